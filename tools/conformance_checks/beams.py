"""Pusher's own Python SDK, unchanged, and the device routes with the tokens that it makes.

The SDK always speaks https; a transport of its session turns that into http, on the wire only.
Usage: beams.py HOST:PORT INSTANCE SECRET
"""

import sys
import uuid

from checks import Checks, without_proxies

without_proxies()
import jwt  # noqa: E402
import requests  # noqa: E402
from pusher_push_notifications import (  # noqa: E402
    PusherAuthError, PusherMissingInstanceError, PusherValidationError, PushNotifications)

endpoint, instance, secret = sys.argv[1:]
checks = Checks("pusher-push-notifications")
mark = uuid.uuid4().hex[:10]
alert = {"apns": {"aps": {"alert": {"title": "A title", "body": "A body"}}}}
web = {"web": {"notification": {"title": "A title", "body": "A body", "deep_link": "https://example.org/a"}, "time_to_live": 60}}
fcm = {"fcm": {"notification": {"title": "A title", "body": "A body"}, "data": {"a": "b"}}}


class PlainTransport(requests.adapters.HTTPAdapter):
    def send(self, request, **options):
        request.url = request.url.replace("https://", "http://", 1)
        return super().send(request, **options)


def sdk(instance=instance, secret=secret):
    made = PushNotifications(instance_id=instance, secret_key=secret, endpoint=endpoint)
    made.session.mount("https://", PlainTransport())
    return made


beams = sdk()


def to_interests(names, body):
    return beams.publish_to_interests(names, body)["publishId"]


def to_users(names, body):
    return beams.publish_to_users(names, body)["publishId"]


def publishing():
    letters = "".join(chr(c) for c in range(33, 127) if chr(c).isalnum() or chr(c) in "_-=@,.;")
    for what, names, body in [
        ("an alert", ["apple"], alert), ("three platforms", ["apple", "pear"], {**alert, **web, **fcm}), ("fcm alone", ["apple"], fcm),
        ("web alone", ["apple"], web), ("letters beyond ASCII", ["apple"], {"apns": {"aps": {"alert": "Grüße 🎉"}}}),
        ("every letter of an interest", [letters], alert), ("an interest of 164", ["x" * 164], alert),
        ("a hundred interests", [f"i{n}" for n in range(100)], alert), ("an interest twice", ["apple", "apple"], alert),
        ("an address of a webhook", ["apple"], {**alert, "webhookUrl": "http://127.0.0.1:1/hook"}),
    ]:
        checks.does(f"interests: {what}", lambda: to_interests(names, body))
    ids = {checks.does("interests: again", lambda: to_interests(["apple"], alert)) for _ in range(10)}
    checks.that("interests: each publish has a name of its own", len(ids) == 10, ids)
    checks.does("interests: under the older name", lambda: beams.publish(["apple"], alert)["publishId"])
    for what, names, body in [
        ("one", [f"mary-{mark}"], alert), ("a thousand", [f"u{n}-{mark}" for n in range(1000)], alert), ("beyond ASCII", [f"zoë-{mark}"], alert),
        ("an id of 164", ["y" * 164], alert), ("nobody", [f"nobody-{mark}"], {**alert, **web}),
        ("150 KiB", [f"mary-{mark}"], {"apns": {"aps": {"alert": "x" * 150 * 1024}}}),
    ]:
        checks.does(f"users: {what}", lambda: to_users(names, body))


def refusals():
    stranger, nowhere = sdk(secret="0" * 64), sdk(instance=str(uuid.uuid4()))
    checks.refuses("a wrong secret", PusherAuthError, lambda: stranger.publish_to_interests(["apple"], alert))
    checks.refuses("an unknown instance", PusherMissingInstanceError, lambda: nowhere.publish_to_interests(["apple"], alert))
    for what, act in [
        ("no platform", lambda: to_interests(["apple"], {})), ("a platform that is a text", lambda: to_interests(["apple"], {"apns": "x"})),
        ("an empty interest", lambda: to_interests([""], alert)), ("an interest with a line's end", lambda: to_interests(["apple\n"], alert)),
        ("interests over 10 KiB", lambda: to_interests(["apple"], {"apns": {"aps": {"alert": "x" * 11000}}})),
        ("users over 200 KiB", lambda: to_users(["mary"], {"apns": {"aps": {"alert": "x" * 210000}}})),
        ("an empty user id", lambda: to_users([""], alert)),
    ]:
        checks.refuses(f"refused: {what}", PusherValidationError, act)
    checks.does("after refusals the connection goes on", lambda: to_interests(["apple"], alert))
    checks.refuses("deleting with a wrong secret", PusherAuthError, lambda: stranger.delete_user("mary"))
    checks.refuses("deleting elsewhere", PusherMissingInstanceError, lambda: nowhere.delete_user("mary"))


def devices():
    user = f"mary-{mark}"
    token = beams.generate_token(user)["token"]
    claims = jwt.decode(token, secret, algorithms=["HS256"], issuer=f"https://{instance}.pushnotifications.pusher.com")
    checks.that("a token names the user", claims["sub"] == user, claims)
    session = requests.Session()
    base = f"http://{endpoint}/device_api/v1/instances/{instance}/devices/apns"
    made = session.post(base, json={"token": mark * 6, "bundleIdentifier": "org.example", "metadata": {"sdkVersion": "4"}})
    checks.that("a device is registered", made.status_code == 200 and made.json()["initialInterestSet"] == [], made.text)
    one = f"{base}/{made.json()['id']}"
    again = session.post(base, json={"token": mark * 6})
    checks.that("the same token is the same device", again.json()["id"] == made.json()["id"], again.text)
    checks.that("an interest is added", session.post(f"{one}/interests/apple").status_code == 200)
    interests = session.get(f"{one}/interests").json()
    checks.that("the interests are listed", interests == {"interests": ["apple"], "responseMetadata": {}}, interests)
    bound = session.put(f"{one}/user", headers={"Authorization": f"Bearer {token}"})
    checks.that("the user is set by the SDK's token", bound.status_code == 200 and session.get(one).json()["userId"] == user, bound.text)
    publish = checks.does("the user is published to", lambda: to_users([user], alert))
    for event in ("Delivery", "Open"):
        report = {"event": event, "publishId": publish, "deviceId": made.json()["id"], "userId": user, "timestampSecs": 1}
        answer = session.post(f"http://{endpoint}/reporting_api/v2/instances/{instance}/events", json=report)
        checks.that(f"a {event} is reported", answer.status_code == 200 and not answer.content, answer.text)
    checks.that("deleting a user answers nothing", beams.delete_user(user) is None)
    checks.that("its device is gone", session.get(one).status_code == 404)
    checks.does("deleting it again", lambda: beams.delete_user(user))
    for odd in ("a b", "a/b", "a+b", "a%2Fb", "a&b;c", "ron@example.org", "zoë", "?a=b#c", "..", "//"):
        name = f"{odd}-{mark}"
        to_users([name], alert)
        checks.does(f"deleting {odd!r}", lambda: beams.delete_user(name))


publishing()
refusals()
devices()
checks.close()
