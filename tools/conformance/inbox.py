"""The inbox surface as two MIT-licensed Python SDKs of it send and read it, which nobody of this project wrote.

    inbox.py magicbell|belfry URL KEY SECRET

`magicbell` (PyPI) posts notifications and users; `belfry` (PyPI belfry-magicbell) posts broadcasts and push subscriptions. What they
have no method for, a user's own calls, goes through their HTTP client and with their headers; and the last part is how the
MIT-licensed Ruby gem asks, which sends the project's secret in place of a user's HMAC. tools/check-conformance runs it.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import sys
import uuid

from checks import Checks

sdk, url, key, secret = sys.argv[1:5]
if sdk == "magicbell":
    from magicbell import MagicBell, errors
    from magicbell.configuration import Configuration
    from magicbell.model import Notification, Recipient, User, WrappedNotification, WrappedUser
else:
    from belfry_magicbell import MagicBell, errors
    from belfry_magicbell.configuration import Configuration
    from belfry_magicbell.model import Notification, Recipient, User, WrappedNotification, WrappedUser
    from belfry_magicbell.model.push_subscription import PushSubscription, WrappedPushSubscription

# One of them writes each refusal that is wanted here to its log.
logging.disable()
check = Checks()
wrapper = "notification" if sdk == "magicbell" else "broadcast"
tag = uuid.uuid4().hex[:10]
name, mail = f"mary-{tag}", f"Mary.{tag}@example.org"


def proof(of, by=secret):
    return base64.b64encode(hmac.digest(by.encode(), of.encode(), hashlib.sha256)).decode()


def sending(**parts):
    parts.setdefault("recipients", [Recipient(external_id=name)])
    return WrappedNotification(**{wrapper: Notification(**parts)})


def told(*statuses):
    """An error of the hub with one of the statuses, whose body is errors, each with a message."""
    def holds(error):
        found = error.json().get("errors")
        return error.status_code in statuses and bool(found) and all(one.get("message") for one in found)
    return holds


async def users(bell):
    made = await bell.users.create_user(WrappedUser(user=User(external_id=name, email=mail, first_name="Mary")))
    check.that("a user is made, and has an id", made.user.id and made.user.first_name == "Mary", made)
    again = await bell.users.create_user(WrappedUser(user=User(external_id=name, email=mail, first_name="Mary")))
    check.that("made again it is the same", again.user.id == made.user.id, again)
    for by, last in ((f"email:{mail}", "Stone"), (f"external_id:{name}", "Reed"), (made.user.id, "Hill")):
        changed = await bell.users.update_user(by, {"user": {"last_name": last}})
        check.that(f"a change by {by.split(':')[0]} leaves what it does not name",
                   (changed.user.first_name, changed.user.last_name) == ("Mary", last), changed)


async def send(bell):
    order = sending(title="Order 7 has left", content="<i>by ship</i>", category="orders", topic="order:7",
                    action_url="https://example.org/7", custom_attributes={"box": {"sizes": [3, 4]}})
    once = uuid.uuid4().hex
    first = await bell.realtime.create_notification_detailed(order, idempotency_key=once)
    second = await bell.realtime.create_notification_detailed(order, idempotency_key=once)
    check.that("a sending is answered with 201", first.status_code == 201, first.status_code)
    check.that("the same key is the same sending", (second.status_code, second.content)
               == (first.status_code, first.content), second.content)
    with check.refused("the same key with another body is 409", errors.MagicBellHTTPClientError, told(409)):
        await bell.realtime.create_notification_detailed(sending(title="Another"), idempotency_key=once)
    for number in range(3):
        await bell.realtime.create_notification(sending(title=f"Bill {number}", category="billing", topic="bills"))
    with check.refused("a sending of nothing is 422", errors.MagicBellHTTPClientError, told(422)):
        await bell.realtime.create_notification({wrapper: {}})
    other = MagicBell(Configuration(api_url=url, api_key=key, api_secret="not the secret"))
    with check.refused("another secret is 401", errors.MagicBellHTTPClientError, told(401)):
        await other.realtime.create_notification(order)
    await other.http_client.aclose()
    if sdk != "belfry":
        return
    token = "token-" + tag
    subscription = WrappedPushSubscription(
        push_subscription=PushSubscription(device_token=token, platform="ios"))
    made = await bell.push_subscriptions.create_push_subscription(name, subscription)
    check.that("a push subscription is made", made.push_subscription.device_token == token, made)
    found = await bell.push_subscriptions.list_push_subscriptions(name)
    check.that("and listed", [one.device_token for one in found.parsed.push_subscriptions] == [token], found)
    gone = await bell.push_subscriptions.delete_push_subscription(name, token)
    check.that("and taken back", gone.status_code == 204, gone.status_code)


class Person:
    """A user's own calls, with the SDK's client."""

    def __init__(self, client, headers):
        self.client, self.headers = client, headers

    async def call(self, method, path, body=None, **query):
        content = {} if body is None else {"content": json.dumps(body), "headers": {
            **self.headers, "Content-Type": "application/json"}}
        words = {part: str(value).lower() for part, value in query.items()}
        return await self.client.request(method, path, **{"headers": self.headers, **content}, params=words)

    async def page(self, **query):
        return (await self.call("GET", "/notifications", **query)).json()

    async def done(self, claim, method, path):
        answer = await self.call(method, path)
        check.that(claim, answer.status_code == 204 and not answer.content, (answer.status_code, answer.text))


async def lists(mary):
    page = await mary.page()
    check.that("a page tells where it stands", [page[part] for part in (
        "total", "per_page", "current_page", "total_pages", "unread_count", "unseen_count")] == [4, 15, 1, 1, 4, 4], page)
    newest = page["notifications"][0]
    wanted = ("id title content action_url category topic custom_attributes recipient sent_at seen_at read_at"
              " archived_at").split()
    check.that("an item has every member", set(wanted) <= set(newest), newest)
    check.that("times are seconds, and absent ones null",
               isinstance(newest["sent_at"], int) and newest["read_at"] is None, newest)
    titles = [one["title"] for one in page["notifications"]]
    check.that("the newest is first", titles == ["Bill 2", "Bill 1", "Bill 0", "Order 7 has left"], titles)
    pages = [await mary.page(per_page=3, page=number) for number in (1, 2)]
    ids = [one["id"] for part in pages for one in part["notifications"]]
    check.that("pages are whole and do not overlap", len(ids) == 4 == len(set(ids)) and pages[0]["total_pages"] == 2, ids)
    check.that("a filter by category", (await mary.page(categories="billing"))["total"] == 3)
    check.that("a filter by several topics", (await mary.page(topics="bills,order:7"))["total"] == 4)
    order = page["notifications"][3]
    check.that("custom attributes come as they went", order["custom_attributes"] == {"box": {"sizes": [3, 4]}}, order)
    return order["id"]


async def acts(mary, item):
    path = f"/notifications/{item}"

    async def one():
        return (await mary.call("GET", path)).json()["notification"]

    check.that("one item", (await one())["id"] == item)
    await mary.done("it is read", "POST", path + "/read")
    read = await one()
    check.that("what is read is seen", read["read_at"] and read["seen_at"], read)
    await mary.done("it is read again", "POST", path + "/read")
    check.that("the first time stands, and the count", (await one())["read_at"] == read["read_at"]
               and (await mary.page())["unread_count"] == 3)
    await mary.done("it is unread", "POST", path + "/unread")
    unread = await one()
    check.that("what is unread stays seen", unread["read_at"] is None and unread["seen_at"] == read["seen_at"], unread)
    await mary.done("it is archived", "POST", path + "/archive")
    check.that("archived or not", [(await mary.page(archived=wanted))["total"] for wanted in (True, False)] == [1, 3])
    await mary.done("it is taken back", "DELETE", path + "/archive")
    check.that("and is in the inbox", (await mary.page(archived=False))["total"] == 4)
    await mary.done("all is seen", "POST", "/notifications/seen")
    page = await mary.page()
    check.that("seen is not read", (page["unseen_count"], page["unread_count"]) == (0, 4), page)
    await mary.done("all is read", "POST", "/notifications/read")
    check.that("the counts follow the filter", [(await mary.page(read=wanted))["total"] for wanted in (True, False)] == [4, 0]
               and (await mary.page())["unread_count"] == 0)
    await mary.done("it is deleted", "DELETE", path)
    for method in ("GET", "DELETE"):
        answer = await mary.call(method, path)
        check.that(f"{method} of what is no more", answer.status_code == 404 and answer.json()["errors"][0]["message"],
                   answer.text)


async def preferences(mary):
    def cells(answer):
        return {(category["slug"], channel["slug"]): channel["enabled"]
                for category in answer.json()["notification_preferences"]["categories"] for channel in category["channels"]}

    async def put(channel, enabled):
        categories = [{"slug": "billing", "channels": [{"slug": channel, "enabled": enabled}]}]
        return await mary.call("PUT", "/notification_preferences", {"notification_preferences": {"categories": categories}})

    first = cells(await mary.call("GET", "/notification_preferences"))
    off = await put("email", False)
    check.that("a part of the preferences is answered with all of them",
               cells(off) == {**first, ("billing", "email"): False} and '"label"' in off.text, off.text)
    await put("in_app", True)
    last = cells(await mary.call("GET", "/notification_preferences"))
    check.that("what a part does not name stays", last == {**cells(off), ("billing", "in_app"): True}, last)


async def tokens(mary):
    body = {"push_subscription": {"device_token": "b-" + tag, "platform": "ios"}}
    made = await mary.call("POST", "/push_subscriptions", body)
    check.that("a token is registered", made.status_code == 201 and made.json()["push_subscription"]["id"], made.text)
    none = await mary.call("POST", "/push_subscriptions", {"push_subscription": {}})
    check.that("both members that are missing are named", none.status_code == 422 and len(none.json()["errors"]) == 2,
               none.text)
    await mary.done("it is taken back", "DELETE", "/push_subscriptions/b-" + tag)


async def identity(mary):
    client = mary.client
    config = await mary.call("GET", "/config")
    check.that("the WebSocket side is named", config.json()["ws"]["url"].startswith(("ws://", "wss://")), config.text)

    async def asked(claim, statuses, headers, code=None):
        answer = await client.get("/notifications", headers=headers)
        error = answer.json().get("errors", [{}])[0] if answer.status_code != 200 else {}
        check.that(claim, answer.status_code in statuses and (code is None or error.get("code") == code), answer.text)
        return answer

    await asked("no user", (401, 422), {"X-MAGICBELL-API-KEY": key})
    await asked("no key", (401,), {"X-MAGICBELL-USER-EMAIL": mail}, "api_key_not_provided")
    await asked("another's HMAC", (401,), {**mary.headers, "X-MAGICBELL-USER-HMAC": proof("somebody")})
    both = await asked("two names", (200,), {**mary.headers, "X-MAGICBELL-USER-EMAIL": "somebody@example.org"})
    check.that("the external id is the one that counts", both.json()["total"] == 3, both.text)


async def gem(client):
    admin = {"X-MAGICBELL-API-KEY": key, "X-MAGICBELL-API-SECRET": secret}
    ruby = Person(client, admin)
    made = await ruby.call("POST", "/notifications", {"notification": {
        "title": "From Ruby", "recipients": [{"email": mail.upper()}]}})
    check.that("the gem sends", made.status_code == 201 and made.json()["notification"]["id"], made.text)
    mary = Person(client, {**admin, "X-MAGICBELL-USER-EMAIL": mail.lower()})
    page = await mary.page(page=1, per_page=2)
    check.that("the secret stands for the HMAC; case of an address does not count",
               page["notifications"][0]["title"] == "From Ruby" and page["per_page"] == 2, page)
    item = page["notifications"][0]["id"]
    for path, wrapped in ((f"/notifications/{item}/read", "user_notification_read"),
                          (f"/notifications/{item}/unread", "user_notification_unread"),
                          ("/notifications/read", "user_notifications_read"),
                          ("/notifications/seen", "user_notifications_seen")):
        answer = await mary.call("POST", path, {wrapped: {}})
        check.that("the gem's body does not matter to " + path.replace(item, ":id"),
                   answer.status_code == 204 and not answer.content, (answer.status_code, answer.text))
    found = await mary.call("GET", "/notification_preferences")
    check.that("the gem reads preferences", found.status_code == 200 and "notification_preferences" in found.json(), found.text)


async def main():
    async with MagicBell(Configuration(api_url=url, api_key=key, api_secret=secret)) as bell:
        await users(bell)
        await send(bell)
        mary = Person(bell.http_client, {
            "X-MAGICBELL-API-KEY": key, "X-MAGICBELL-USER-EXTERNAL-ID": name, "X-MAGICBELL-USER-HMAC": proof(name)})
        item = await lists(mary)
        await acts(mary, item)
        await preferences(mary)
        await tokens(mary)
        await identity(mary)
        await gem(bell.http_client)
        await bell.users.delete_user(f"external_id:{name}")
        with check.refused("who is deleted is not changed", errors.MagicBellHTTPClientError, told(404)):
            await bell.users.update_user(f"external_id:{name}", {"user": {}})
    return check.end(f"the inbox surface by {sdk}")


sys.exit(asyncio.run(main()))
