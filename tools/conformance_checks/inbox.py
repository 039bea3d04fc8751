"""Two Python SDKs of the inbox surface, unchanged, and the user's calls through their own HTTP client.

The hub's catalogue must hold the category `billing` with the channels `email` and `in_app`.
Usage: inbox.py magicbell|belfry URL KEY SECRET
"""

import asyncio
import json
import logging
import sys
import uuid

from checks import Checks, user_hmac, without_proxies

without_proxies()
# The SDKs log each refusal that is wanted here.
logging.disable()
name, url, key, secret = sys.argv[1:]
if name == "magicbell":
    from magicbell import MagicBell, errors
    from magicbell.configuration import Configuration
    from magicbell.model import Notification, Recipient, User, WrappedNotification, WrappedUser
    entity = "notification"
else:
    from belfry_magicbell import MagicBell, errors
    from belfry_magicbell.configuration import Configuration
    from belfry_magicbell.model import Notification, Recipient, User, WrappedNotification, WrappedUser
    entity = "broadcast"

checks = Checks(name)
mark = uuid.uuid4().hex[:10]
email, external = f"pat-{mark}@example.org", f"pat-{mark}"
base = {"X-MAGICBELL-API-KEY": key, "Accept": "application/json"}
user = {**base, "X-MAGICBELL-USER-EXTERNAL-ID": external, "X-MAGICBELL-USER-HMAC": user_hmac(secret, external)}


def wrapped(**members):
    return WrappedNotification(**{entity: Notification(recipients=[Recipient(external_id=external)], **members)})


async def refused(claim, call, statuses):
    """An SDK's error with a list of errors, each with a message."""
    try:
        seen = await call
    except errors.MagicBellHTTPClientError as error:
        told = error.json().get("errors", [])
        checks.that(claim, error.status_code in statuses and told and all(one["message"] for one in told), error)
    else:
        checks.that(claim, False, seen)


async def back_end(bell):
    made = await bell.users.create_user(WrappedUser(user=User(external_id=external, email=email, first_name="Pat")))
    checks.that("a user is made", bool(made.user.id) and made.user.email == email, made)
    changed = await bell.users.update_user(f"email:{email}", {"user": {"last_name": "Lee"}})
    checks.that("a change leaves what it does not name", (changed.user.first_name, changed.user.last_name) == ("Pat", "Lee"), changed)
    changed = await bell.users.update_user(f"external_id:{external}", {"user": {"first_name": "Pam"}})
    checks.that("a user is changed by its external id", changed.user.first_name == "Pam", changed)
    note = wrapped(title="The build is done", content="<i>green</i>", category="builds", topic="repo:7",
                   action_url="https://example.org/b", custom_attributes={"a": {"b": [1, None]}})
    sends = [await bell.realtime.create_notification_detailed(note, idempotency_key=mark) for _ in range(2)]
    checks.that("sending is 201", sends[0].status_code == 201, sends[0].status_code)
    checks.that("the same key gets the same answer", sends[0].content == sends[1].content and sends[1].status_code == 201, sends)
    for number in range(3):
        await bell.realtime.create_notification(wrapped(title=f"Invoice {number}", category="billing", topic="invoices"))
    await refused("an empty one is 422", bell.realtime.create_notification({entity: {}}), (422,))
    stranger = MagicBell(Configuration(api_url=url, api_key=key, api_secret="guess"))
    await refused("a wrong secret is refused", stranger.realtime.create_notification(note), (401, 403))
    await stranger.http_client.aclose()


async def subscriptions(bell):
    from belfry_magicbell.model.push_subscription import PushSubscription, WrappedPushSubscription
    token = f"token{mark}"
    made = await bell.push_subscriptions.create_push_subscription(
        external, WrappedPushSubscription(push_subscription=PushSubscription(device_token=token, platform="ios")))
    checks.that("a token is subscribed", made.push_subscription.device_token == token, made)
    listed = await bell.push_subscriptions.list_push_subscriptions(external)
    checks.that("and listed", [one.device_token for one in listed.parsed.push_subscriptions] == [token], listed)
    gone = await bell.push_subscriptions.delete_push_subscription(external, token)
    checks.that("and deleted", gone.status_code == 204, gone)


class Reader:
    """A user's calls."""

    def __init__(self, http):
        self.http = http

    async def list(self, **query):
        answer = await self.http.get("/notifications", headers=user, params={k: str(v).lower() for k, v in query.items()})
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def act(self, method, path, **more):
        return (await self.http.request(method, path, headers=user, **more)).status_code

    async def one(self, item):
        return (await self.http.get(f"/notifications/{item}", headers=user)).json()["notification"]


async def lists(reader):
    page = await reader.list()
    members = {"total", "per_page", "total_pages", "current_page", "unread_count", "unseen_count", "notifications"}
    checks.that("a list has its members", members <= page.keys() and (page["total"], page["per_page"]) == (4, 15), page)
    item = page["notifications"][0]
    members = {"id", "title", "content", "action_url", "category", "topic", "custom_attributes", "recipient", "sent_at", "seen_at",
               "read_at", "archived_at"}
    checks.that("an item has its members", members <= item.keys() and isinstance(item["sent_at"], int) and item["read_at"] is None, item)
    times = [one["sent_at"] for one in page["notifications"]]
    checks.that("the newest comes first", times == sorted(times, reverse=True), times)
    ids = [one["id"] for number in (1, 2) for one in (await reader.list(per_page=3, page=number))["notifications"]]
    checks.that("pages neither repeat nor miss", len(ids) == len(set(ids)) == 4, ids)
    checks.that("a category", (await reader.list(categories="billing"))["total"] == 3)
    checks.that("two topics", (await reader.list(topics="invoices,repo:7"))["total"] == 4)
    build = page["notifications"][-1]
    checks.that("attributes stay as they are", build["custom_attributes"] == {"a": {"b": [1, None]}}, build)
    return build["id"]


async def acts(reader, item):
    path = f"/notifications/{item}"
    checks.that("an item is shown", (await reader.one(item))["id"] == item)
    checks.that("read", await reader.act("POST", path + "/read") == 204)
    one = await reader.one(item)
    checks.that("read is seen", one["read_at"] and one["seen_at"], one)
    checks.that("read again", await reader.act("POST", path + "/read") == 204 and (await reader.list())["unread_count"] == 3)
    checks.that("unread", await reader.act("POST", path + "/unread") == 204)
    checks.that("unread is still seen", [(await reader.one(item))[k] for k in ("read_at", "seen_at")] == [None, one["seen_at"]])
    checks.that("archive", await reader.act("POST", path + "/archive") == 204)
    totals = [(await reader.list(archived=flag))["total"] for flag in (True, False)]
    checks.that("the archive is apart", totals == [1, 3], totals)
    checks.that("back", await reader.act("DELETE", path + "/archive") == 204 and (await reader.list(archived=False))["total"] == 4)
    checks.that("all seen", await reader.act("POST", "/notifications/seen") == 204)
    page = await reader.list()
    checks.that("seen is not read", (page["unseen_count"], page["unread_count"]) == (0, 4), page)
    checks.that("all read", await reader.act("POST", "/notifications/read") == 204 and (await reader.list())["unread_count"] == 0)
    checks.that("counts follow the filter", [(await reader.list(read=flag))["total"] for flag in (False, True)] == [0, 4])
    gone = [await reader.act(method, path) for method in ("DELETE", "GET", "DELETE")]
    checks.that("deleted is gone", gone == [204, 404, 404], gone)


async def preferences(reader):
    async def put(channel, on):
        body = {"notification_preferences": {"categories": [{"slug": "billing", "channels": [{"slug": channel, "enabled": on}]}]}}
        return await reader.http.put("/notification_preferences", headers=user, json=body)

    def channels(answer):
        return {(c["slug"], one["slug"]): one["enabled"] for c in answer.json()["notification_preferences"]["categories"]
                for one in c["channels"]}

    first = await put("email", False)
    checks.that("a part of the preferences is set", channels(first)[("billing", "email")] is False, first.text)
    labels = [one["label"] for c in first.json()["notification_preferences"]["categories"] for one in c["channels"]]
    checks.that("each channel has a label", all(labels), labels)
    await put("in_app", True)
    second = await reader.http.get("/notification_preferences", headers=user)
    checks.that("and the rest stays", channels(second) == {**channels(first), ("billing", "in_app"): True}, second.text)


async def proofs(reader):
    async def status(headers):
        answer = await reader.http.get("/notifications", headers=headers)
        return answer.status_code, (answer.json().get("errors") or [{}])[0].get("code")

    checks.that("no user is refused", 400 <= (await status(base))[0] < 500)
    checks.that("no key is refused by name", await status({"X-MAGICBELL-USER-EMAIL": email}) == (401, "api_key_not_provided"))
    checks.that("another's proof is refused", (await status({**user, "X-MAGICBELL-USER-HMAC": user_hmac(secret, "x")}))[0] in (401, 403))
    checks.that("the external id wins", (await status({**user, "X-MAGICBELL-USER-EMAIL": "x@example.org"}))[0] == 200)
    config = await reader.http.get("/config", headers=base)
    checks.that("the device side is named", config.json()["ws"]["url"].startswith("ws"), config.text)
    empty = await reader.http.post("/push_subscriptions", headers=user, json={"push_subscription": {}})
    checks.that("each missing member is named", empty.status_code == 422 and len(empty.json()["errors"]) == 2, empty.text)


async def other_clients(bell, reader):
    """The calls as another language's client makes them: the secret in place of a proof, and bodies that say nothing."""
    admin = {**base, "X-MAGICBELL-API-SECRET": secret, "Content-Type": "application/json"}
    sent = await reader.http.post("/notifications", headers=admin, content=json.dumps(
        {"notification": {"title": "By email", "recipients": [{"email": email.upper()}]}}))
    checks.that("an email in capitals", sent.status_code == 201 and sent.json()["notification"]["id"], sent.text)
    mine = {**admin, "X-MAGICBELL-USER-EMAIL": email}
    page = (await reader.http.get("/notifications", headers=mine, params={"page": 1, "per_page": 2})).json()
    checks.that("the secret stands for a proof", page["notifications"][0]["title"] == "By email" and page["per_page"] == 2, page)
    item = page["notifications"][0]["id"]
    for path in (f"/{item}/read", f"/{item}/unread", "/read", "/seen"):
        answer = await reader.http.post("/notifications" + path, headers=mine, content=b'{"anything":{}}')
        checks.that(f"a body that says nothing: {path.replace(item, 'ID')}", answer.status_code == 204 and not answer.content, answer.text)
    await bell.users.delete_user(f"external_id:{external}")
    await refused("a deleted user is not there", bell.users.update_user(f"external_id:{external}", {"user": {}}), (404,))


async def main():
    async with MagicBell(Configuration(api_url=url, api_key=key, api_secret=secret)) as bell:
        await back_end(bell)
        if name == "belfry":
            await subscriptions(bell)
        reader = Reader(bell.http_client)
        await acts(reader, await lists(reader))
        await preferences(reader)
        await proofs(reader)
        await other_clients(bell, reader)
    checks.close()


asyncio.run(main())
