"""The interests surface as Pusher's stock Python SDK (PyPI pusher-push-notifications) publishes to it.

    beams.py HOST:PORT INSTANCE SECRET [CERTIFICATE]

The SDK speaks TLS and nothing else: with a certificate it is told to trust that, without one an adapter of its own session puts its
requests on the wire in plain HTTP. Nothing else of it is touched. tools/check-conformance runs it.
"""

import sys
import time
import uuid
import warnings

import jwt
import requests
from pusher_push_notifications import (
    PushNotifications, PusherAuthError, PusherMissingInstanceError, PusherValidationError)

from checks import Checks

address, instance, secret = sys.argv[1:4]
certificate = sys.argv[4] if len(sys.argv) > 4 else None
check = Checks()
tag = uuid.uuid4().hex[:10]
mary = "mary-" + tag
nowhere = str(uuid.uuid4())

ALERT = {"apns": {"aps": {"alert": {"title": "Order 7", "body": "It has left"}}}}
EVERY = {
    "apns": {"aps": {"alert": {"title": "Order 7", "body": "It has left"}, "badge": 2, "sound": "bell"}, "data": {"a": "b"}},
    "fcm": {"notification": {"title": "Order 7", "body": "It has left"}, "data": {"a": "b"}},
    "web": {"notification": {"title": "Order 7", "body": "It has left", "deep_link": "https://example.org/7"},
            "time_to_live": 600},
}
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


class Plain(requests.adapters.HTTPAdapter):
    """Takes requests for https:// to http://."""

    def send(self, request, **rest):
        request.url = request.url.replace("https://", "http://", 1)
        return super().send(request, **rest)


def untrusting(session):
    """Of the machine's proxies and certificates nothing."""
    session.trust_env = False
    session.proxies = {}
    if certificate:
        session.verify = certificate
    else:
        session.mount("https://", Plain())
    return session


def client(of=instance, with_secret=secret):
    made = PushNotifications(instance_id=of, secret_key=with_secret, endpoint=address)
    untrusting(made.session)
    return made


beams = client()


def published(claim, answer):
    """A publish is answered with its id."""
    with check.claim(claim):
        found = answer()
        if not (isinstance(found, dict) and found.get("publishId", "").startswith("pubid-")):
            raise ValueError(found)


def to_interests(*names, body=ALERT):
    return lambda: beams.publish_to_interests(interests=list(names), publish_body=body)


def to_users(*names, body=ALERT):
    return lambda: beams.publish_to_users(user_ids=list(names), publish_body=body)


def refused(claim, kind, call):
    """An error of a kind, in words of the hub: the SDK has words of its own only where the hub's are missing."""
    with check.refused(claim, kind, lambda error: "Unknown error" not in str(error) and "no description" not in str(error)):
        call()


def publishing():
    published("an interest", to_interests("apple"))
    published("every platform", to_interests("apple", "pear", body=EVERY))
    for platform in EVERY:
        published(f"only {platform}", to_interests("apple", body={platform: EVERY[platform]}))
    published("text beyond ASCII", to_interests("apple", body={"apns": {"aps": {"alert": "Grüße 🌍"}}}))
    published("every character that an interest may have", to_interests(LETTERS + "_-=@,.;"))
    published("an interest of 164 characters", to_interests("i" * 164))
    published("100 interests", to_interests(*(f"i{number}" for number in range(100))))
    published("an interest twice", to_interests("apple", "apple"))
    published("an address for webhooks", to_interests("apple", body={**ALERT, "webhookUrl": "http://127.0.0.1:9/none"}))
    with check.claim("each publish has an id of its own"):
        ids = [to_interests("apple")()["publishId"] for _ in range(20)]
        assert len(set(ids)) == 20, ids
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        published("the old name of the call", lambda: beams.publish(["apple"], ALERT))
    published("a user", to_users(mary))
    published("1,000 users", to_users(*(f"{tag}-{number}" for number in range(1_000))))
    published("a user's id beyond ASCII", to_users("Jürgen-" + tag))
    published("a user's id of 164 characters", to_users("u" * 164))
    published("a user that nobody is", to_users("nobody-" + tag, body=EVERY))
    published("150 KiB to a user", to_users(mary, body={"apns": {"aps": {"alert": "y" * 150 * 1024}}}))


def refusals():
    refused("another secret", PusherAuthError, lambda: client(with_secret="0" * 64).publish_to_interests(["apple"], ALERT))
    refused("no such instance", PusherMissingInstanceError, lambda: client(of=nowhere).publish_to_interests(["apple"], ALERT))
    refused("no platform", PusherValidationError, to_interests("apple", body={}))
    refused("a platform that is no object", PusherValidationError, to_interests("apple", body={"apns": "text"}))
    refused("an interest without a name", PusherValidationError, to_interests(""))
    refused("an interest with a line's end", PusherValidationError, to_interests("apple\n"))
    refused("a user without a name", PusherValidationError, to_users(""))
    refused("11 KiB to interests", PusherValidationError, to_interests("apple", body={"apns": {"aps": {"alert": "y" * 11_264}}}))
    refused("201 KiB to users", PusherValidationError, to_users(mary, body={"apns": {"aps": {"alert": "y" * 205_824}}}))
    published("after all that the connection serves", to_interests("apple"))


def devices():
    scheme = "https" if certificate else "http"
    base = f"{scheme}://{address}/device_api/v1/instances/{instance}/devices/apns"
    session = untrusting(requests.Session())
    token = beams.generate_token(mary)["token"]
    with check.claim("the SDK's token is what the hub's documents say"):
        claims = jwt.decode(token, secret, algorithms=["HS256"],
                            issuer=f"https://{instance}.pushnotifications.pusher.com")
        assert claims["sub"] == mary and claims["exp"] > time.time(), claims
    made = session.post(base, json={"token": "ab" * 32, "bundleIdentifier": "org.example", "metadata": {"sdkVersion": "4.0.0"}})
    check.that("a device is registered", made.status_code == 200 and made.json()["initialInterestSet"] == [], made.text)
    one = f"{base}/{made.json()['id']}"
    again = session.post(base, json={"token": "ab" * 32})
    check.that("its token is known", again.json()["id"] == made.json()["id"], again.text)
    given = session.put(one + "/user", headers={"Authorization": "Bearer " + token})
    check.that("it is a user's by the SDK's token", given.status_code == 200, given.text)
    check.that("and says so", session.get(one).json()["userId"] == mary)
    published("a publish to that user", to_users(mary))
    with check.claim("a user is deleted"):
        beams.delete_user(mary)
    check.that("and so are the user's devices", session.get(one).status_code == 404)


def deletions():
    for claim, user in [("again", mary), ("a user that nobody is", "nobody-" + tag)] + [
            (f"an id like {odd}", odd + tag) for odd in ("a b", "a/b", "a+b", "a%2Fb", "a@example.org", "Jürgen", "?a=1#b", "..")]:
        with check.claim("deleting " + claim):
            beams.delete_user(user)
    refused("deleting with another secret", PusherAuthError, lambda: client(with_secret="0" * 64).delete_user(mary))
    refused("deleting nowhere", PusherMissingInstanceError, lambda: client(of=nowhere).delete_user(mary))


for part in (publishing, refusals, devices, deletions):
    part()
sys.exit(check.end("the interests surface over " + ("TLS" if certificate else "plain HTTP")))
