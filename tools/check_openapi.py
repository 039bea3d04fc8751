"""The work of tools/check-openapi."""

import base64
import hashlib
import hmac
import json
import sys
import time
import urllib.error
import urllib.request

import jsonschema
import openapi_spec_validator
import yaml

PATH = "schema/rest/openapi.yaml"
document = yaml.safe_load(open(PATH))
openapi_spec_validator.validate(document)


def resolved(node):
    """Follows a reference."""
    while "$ref" in node:
        target = document
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def check(schema, value, what):
    """Checks a value against a schema of the document; the document's own references resolve within it."""
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": document["components"], **schema}
    try:
        jsonschema.Draft202012Validator(whole).validate(value)
    except jsonschema.ValidationError as error:
        sys.exit(f"{what}: {error.message} at {error.json_path}")


def operations():
    for path, item in document["paths"].items():
        for method in ("get", "put", "post", "delete", "patch"):
            if method in item:
                yield path, method, item[method]


examples = 0
for path, method, operation in operations():
    body = resolved(operation.get("requestBody", {}))
    for media in body.get("content", {}).values():
        if "example" in media:
            check(media["schema"], media["example"], f"the example of {method} {path}")
            examples += 1


def operation_of(method, path):
    """The operation that serves a path, with its name; as the router does, a literal wins over a parameter."""
    target = path.split("?")[0].split("/")
    template, operation = min(
        ((template, operation) for template, m, operation in operations()
         if m == method and len(template.split("/")) == len(target)
         and all(a == b or a.startswith("{") for a, b in zip(template.split("/"), target))),
        key=lambda found: [part.startswith("{") for part in found[0].split("/")])
    return f"{template} {method}", operation


def call(base, method, path, headers=None, body=None):
    """Calls the hub and checks the answer against what the document says of it."""
    operation = operation_of(method, path)[1]
    request = urllib.request.Request(base + path, method=method.upper(), headers=headers or {}, data=body)
    try:
        answer = urllib.request.urlopen(request, timeout=10)
    except urllib.error.HTTPError as error:
        answer = error
    is_endless = "text/event-stream" in (answer.headers["Content-Type"] or "")
    status, text = answer.status, b"".join(answer.readline() for _ in range(5)) if is_endless else answer.read()
    if is_endless:
        answer.close()
    what = f"{method} {path}: {status}"
    if str(status) not in operation["responses"]:
        sys.exit(f"{what} is not in the document")
    content = resolved(operation["responses"][str(status)]).get("content")
    if content is None:
        if text:
            sys.exit(f"{what} has a body")
        return status, None
    media_type = answer.headers["Content-Type"].split(";")[0]
    if media_type not in content:
        sys.exit(f"{what} has the type {media_type}")
    value = json.loads(text) if media_type == "application/json" else text.decode()
    check(content[media_type]["schema"], value, what)
    return status, value


def check_hub(base, instance, key, secret, operator=None):
    """Calls every operation, most of them in several ways, and tells how many answers there were. Without the operator's token
    the operator's paths are left out."""
    json_type = {"Content-Type": "application/json"}
    bearer = {"Authorization": "Bearer " + secret, **json_type}
    admin = {"X-MAGICBELL-API-KEY": key, "X-MAGICBELL-API-SECRET": secret, **json_type}
    user = {**admin, "X-MAGICBELL-USER-EXTERNAL-ID": "mary"}
    nobody = {**user, "X-MAGICBELL-USER-EXTERNAL-ID": "nobody at all"}
    called, answers = set(), 0

    def want(wanted, method, path, headers=None, body=None):
        nonlocal answers
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        status, value = call(base, method, path, headers, data)
        if status != wanted:
            sys.exit(f"{method} {path}: {status}, not {wanted}: {value}")
        called.add(operation_of(method, path)[0])
        answers += 1
        return value

    def example(method, path):
        return resolved(document["paths"][path][method]["requestBody"])["content"]["application/json"]["example"]

    want(200, "get", "/healthz")
    want(200, "get", "/config")
    want(200, "get", "/readyz")
    want(200, "get", "/metrics")
    # Sending and the list
    send = example("post", "/notifications")
    once = {**admin, "Idempotency-Key": "once"}
    first = want(201, "post", "/notifications", once, send)
    if want(201, "post", "/notifications", once, send) != first:
        sys.exit("the same Idempotency-Key was answered differently")
    want(409, "post", "/notifications", once, {"notification": {**send["notification"], "title": "Another"}})
    want(401, "post", "/notifications", json_type, b"{}")
    want(400, "post", "/notifications", admin, b"{")
    want(422, "post", "/notifications", admin, b"{}")
    want(413, "post", "/notifications", admin, b" " * 300000)
    want(401, "get", "/notifications")
    want(404, "get", "/notifications", nobody)
    want(422, "get", "/notifications?page=x", user)
    page = want(200, "get", "/notifications?per_page=1&read=false", user)
    if page["total"] != 1:
        sys.exit("one sending is not one item")
    item = page["notifications"][0]["id"]
    # One item, and all
    want(200, "get", f"/notifications/{item}", user)
    for method, rest in [("post", "read"), ("post", "unread"), ("post", "seen"), ("post", "archive"), ("delete", "archive")]:
        want(204, method, f"/notifications/{item}/{rest}?position={page['position']}", user)
        want(404, method, f"/notifications/none/{rest}", user)
        want(401, method, f"/notifications/{item}/{rest}")
        want(422, method, f"/notifications/{item}/{rest}?position=x", user)
    for what in ("read", "seen"):
        want(204, "post", f"/notifications/{what}", user)
        want(204, "post", f"/notifications/{what}?category=orders&topic=order:42", user)
        want(404, "post", f"/notifications/{what}", nobody)
    want(204, "delete", f"/notifications/{item}", user)
    want(404, "delete", f"/notifications/{item}", user)
    want(404, "get", f"/notifications/{item}", user)
    # Preferences and the catalogue
    want(200, "get", "/categories", admin)
    want(200, "put", "/categories", admin, example("put", "/categories"))
    want(422, "put", "/categories", admin, b'{"categories":[{}]}')
    want(401, "put", "/categories", json_type, b"{}")
    want(200, "get", "/notification_preferences", user)
    want(404, "get", "/notification_preferences", nobody)
    preferences = example("put", "/notification_preferences")
    want(200, "put", "/notification_preferences", user, preferences)
    want(422, "put", "/notification_preferences", user, b"{}")
    required = {"categories": [{"slug": "billing", "channels": [{"slug": "in_app", "enabled": False}]}]}
    want(403, "put", "/notification_preferences", user, {"notification_preferences": required})
    # Broadcasts
    broadcast = want(201, "post", "/broadcasts", admin, {"broadcast": send["notification"]})["broadcast"]
    if want(200, "get", f"/broadcasts/{broadcast['id']}", admin)["broadcast"] != broadcast:
        sys.exit("a broadcast is shown differently from how it was answered")
    want(200, "get", "/broadcasts?per_page=1", admin)
    want(422, "get", "/broadcasts?per_page=0", admin)
    want(404, "get", "/broadcasts/none", admin)
    want(422, "post", "/broadcasts", admin, b"{}")
    # Users and push subscriptions
    made = example("post", "/users")
    made["user"]["external_id"] = "nancy"
    made["user"]["email"] = "nancy@example.org"
    nancy = want(201, "post", "/users", admin, made)["user"]["id"]
    want(200, "post", "/users", admin, made)
    want(422, "post", "/users", admin, {"user": {"first_name": "Nancy"}})
    for name in (nancy, "external_id:nancy", "email:Nancy@example.org"):
        want(200, "get", f"/users/{name}", admin)
        want(200, "put", f"/users/{name}", admin, {"user": {"last_name": "Lee"}})
    want(409, "put", f"/users/{nancy}", admin, {"user": {"external_id": "another"}})
    subscription = {"push_subscription": {"device_token": "a token", "platform": "ios"}}
    of_nancy = {**user, "X-MAGICBELL-USER-EXTERNAL-ID": "nancy"}
    want(201, "post", "/push_subscriptions", of_nancy, subscription)
    if len(want(422, "post", "/push_subscriptions", of_nancy, {"push_subscription": {}})["errors"]) != 2:
        sys.exit("not both members are named")
    want(200, "get", "/push_subscriptions", of_nancy)
    want(404, "delete", "/push_subscriptions/a%20token", user)
    want(204, "delete", "/push_subscriptions/a%20token", of_nancy)
    want(204, "delete", f"/users/{nancy}", admin)
    for method in ("get", "put", "delete"):
        want(404, method, "/users/external_id:nancy", admin, None if method != "put" else {"user": {}})
    # Where an inbox stands
    want(200, "get", "/me/devices", of_nancy)
    want(404, "delete", "/me/devices/0", of_nancy)
    want(401, "delete", "/me", {"X-MAGICBELL-API-KEY": key, "X-MAGICBELL-USER-EXTERNAL-ID": "nobody"})
    want(200, "get", "/standing?position=0", user)
    want(422, "get", "/standing?position=x", user)
    want(404, "get", "/standing?inbox=0", admin)
    want(401, "get", "/standing")
    check_interests(want, example, instance, bearer, json_type, secret)
    check_native(want, example, key, secret, json_type)
    if operator:
        check_projects(want, example, operator, json_type)
    else:
        called |= {f"{path} {method}" for path, method, operation in operations()
                   if {"operator": []} in operation.get("security", [])}
    left = {path + " " + method for path, method, _ in operations()} - called
    if left:
        sys.exit(f"not called: {sorted(left)}")
    return answers


def check_interests(want, example, instance, bearer, json_type, secret):
    """Calls the operations of the interests surface."""
    nowhere = "00000000-0000-4000-8000-000000000000"
    for path in document["paths"]:
        if not path.startswith("/publish_api"):
            continue
        data = example("post", path)
        target = path.replace("{instance}", instance)
        want(200, "post", target, bearer, data)
        once = {**bearer, "Idempotency-Key": path}
        if want(200, "post", target, once, data) != want(200, "post", target, once, data):
            sys.exit("the same Idempotency-Key was answered differently")
        want(409, "post", target, once, {**data, "apns": {"aps": {"alert": "another"}}})
        want(400, "post", target, bearer, b"[")
        want(422, "post", target, bearer, b"{}")
        want(400, "post", target, bearer, b" " * 250000)
        want(401, "post", target, json_type, data)
        want(404, "post", path.replace("{instance}", nowhere), bearer, data)
    devices = f"/device_api/v1/instances/{instance}/devices/apns"
    device = want(200, "post", devices, json_type, {"token": "t1", "metadata": {"sdkVersion": "1"}})["id"]
    if want(200, "post", devices, json_type, {"token": "t1"})["id"] != device:
        sys.exit("a known token got another device")
    want(422, "post", devices, json_type, b"{}")
    want(404, "post", devices.replace(instance, nowhere), json_type, {"token": "t1"})
    one = f"{devices}/{device}"
    want(200, "get", one)
    want(404, "get", f"{devices}/none")
    want(200, "put", one + "/metadata", json_type, {"a": 1})
    want(200, "put", one + "/token", json_type, {"token": "t2"})
    want(422, "put", one + "/token", json_type, b"{}")
    want(200, "put", one + "/interests", json_type, {"interests": ["b", "a", "c"]})
    want(422, "put", one + "/interests", json_type, {"interests": ["not allowed"]})
    want(200, "post", one + "/interests/d")
    want(422, "post", one + "/interests/%C3%A9")
    want(200, "delete", one + "/interests/b")
    page = want(200, "get", one + "/interests?limit=2")
    rest = want(200, "get", one + "/interests?limit=2&cursor=" + page["responseMetadata"]["nextCursor"])
    if page["interests"] + rest["interests"] != ["a", "c", "d"]:
        sys.exit("the interests are not what was set")
    want(401, "put", one + "/user", json_type)
    want(200, "put", one + "/user", {"Authorization": "Bearer " + user_token(instance, secret, "peter"), **json_type})
    want(400, "put", one + "/user", {"Authorization": "Bearer " + user_token(instance, secret, "paul"), **json_type})
    if want(200, "get", one)["userId"] != "peter":
        sys.exit("the device is not the user's")
    events = f"/reporting_api/v2/instances/{instance}/events"
    report = {**example("post", "/reporting_api/v2/instances/{instance}/events"), "deviceId": device}
    for event in ("Delivery", "open", "OPEN"):
        want(200, "post", events, json_type, {**report, "event": event})
    want(422, "post", events, json_type, {**report, "event": "seen"})
    want(422, "post", events, json_type, {**report, "publishId": ""})
    want(400, "post", events, json_type, b"[]")
    want(404, "post", events.replace(instance, nowhere), json_type, report)
    for api in ("user_api", "customer_api"):
        want(401, "delete", f"/{api}/v1/instances/{instance}/users/peter", json_type)
        want(200, "delete", f"/{api}/v1/instances/{instance}/users/peter", bearer)
    want(404, "get", one)
    want(200, "delete", one)


def check_native(want, example, key, secret, json_type):
    """Calls the operations of a project's back end."""
    basic = "Basic " + base64.b64encode(f"{key}:{secret}".encode()).decode()
    project = {"Authorization": basic, **json_type}
    wrong = {"Authorization": "Basic " + base64.b64encode(f"{key}:x".encode()).decode(), **json_type}
    new = example("post", "/v1/publishes")
    first = want(201, "post", "/v1/publishes", project, new)["publish"]["id"]
    second = want(201, "post", "/v1/publishes", {**project, "Idempotency-Key": "native"}, new)["publish"]["id"]
    want(409, "post", "/v1/publishes", {**project, "Idempotency-Key": "native"}, {**new, "title": "Another"})
    if not want(200, "get", f"/v1/publishes/{first}", project)["deliveries"][0]["gone"]:
        sys.exit("a later publish of the same collapse key left the item")
    page = want(200, "get", f"/v1/publishes/{second}?per_page=1", project)
    if page["deliveries"][0]["gone"] or page["deliveries"][0]["external_id"] != "mary":
        sys.exit("a publish reached somebody else")
    want(422, "get", f"/v1/publishes/{second}?after=x", project)
    want(422, "get", f"/v1/publishes/{second}?per_page=0", project)
    want(204, "delete", f"/v1/publishes/{second}", project)
    want(404, "delete", f"/v1/publishes/{second}", project)
    later = want(202, "post", "/v1/publishes", project, {**new, "deliver_at": int(time.time()) + 3600})["publish"]["id"]
    if want(200, "get", f"/v1/publishes/{later}", project)["publish"]["status"] != "scheduled":
        sys.exit("a publish that is to come does not wait")
    want(204, "delete", f"/v1/publishes/{later}", project)
    want(404, "get", "/v1/publishes/none", project)
    want(422, "post", "/v1/publishes", project, b"{}")
    want(422, "post", "/v1/publishes", project, {**new, "expires_at": 1})
    want(400, "post", "/v1/publishes", project, b"{")
    want(413, "post", "/v1/publishes", project, b" " * 250000)
    for method, path in [("post", "/v1/publishes"), ("get", f"/v1/publishes/{first}"), ("delete", f"/v1/publishes/{first}"),
                         ("get", "/v1/users/mary/inboxes"), ("get", "/v1/users/mary/devices"),
                         ("get", "/v1/inboxes/none/dead_letters")]:
        for headers in (json_type, wrong):
            want(401, method, path, headers, b"{}" if method == "post" else None)
    inboxes = want(200, "get", "/v1/users/external_id:mary/inboxes", project)["inboxes"]
    want(200, "get", "/v1/users/external_id:mary/devices", project)
    want(404, "get", "/v1/users/none/inboxes", project)
    want(404, "get", "/v1/users/none/devices", project)
    want(200, "get", f"/v1/inboxes/{inboxes[0]['id']}/dead_letters", project)
    want(422, "get", f"/v1/inboxes/{inboxes[0]['id']}/dead_letters?before=1", project)
    want(404, "get", "/v1/inboxes/none/dead_letters", project)
    events = want(200, "get", f"/v1/log?inbox={inboxes[0]['id']}&after=0", project)
    if "event: entry" not in events:
        sys.exit(f"the log has no events: {events}")
    want(404, "get", "/v1/log?inbox=none", project)
    want(422, "get", "/v1/log", project)
    want(401, "get", "/v1/log?inbox=none", wrong)


def check_projects(want, example, operator, json_type):
    """Calls the operations of who runs the hub."""
    bearer = {"Authorization": "Bearer " + operator, **json_type}
    wrong = {"Authorization": "Bearer " + "0" * 64, **json_type}
    made = want(201, "post", "/v1/projects", bearer, example("post", "/v1/projects"))["project"]
    once = {**bearer, "Idempotency-Key": "a project"}
    if want(201, "post", "/v1/projects", once, {"project": {}}) != want(201, "post", "/v1/projects", once, {"project": {}}):
        sys.exit("the same Idempotency-Key made two projects")
    want(409, "post", "/v1/projects", once, {"project": {"name": "another"}})
    want(422, "post", "/v1/projects", bearer, {"project": {"name": "x" * 101}})
    want(400, "post", "/v1/projects", bearer, b"{")
    want(413, "post", "/v1/projects", bearer, b" " * 300000)
    for headers in (json_type, wrong):
        want(401, "get", "/v1/projects", headers)
        want(401, "post", "/v1/projects", headers, b"{}")
    if made["instance"] not in [project["instance"] for project in want(200, "get", "/v1/projects", bearer)["projects"]]:
        sys.exit("a project that was made is not listed")
    one = "/v1/projects/" + made["instance"]
    want(200, "get", one, bearer)
    want(200, "put", one, bearer, {"project": {"name": "Another name"}})
    want(422, "put", one, bearer, b"{}")
    rotated = want(200, "post", one + "/rotate", bearer, example("post", "/v1/projects/{instance}/rotate"))["project"]
    if rotated["secret"] == made["secret"] or rotated["key"] != made["key"]:
        sys.exit("a rotation replaced something else")
    for secret, status in ((made["secret"], 200), (rotated["secret"], 200), ("0" * 64, 401)):
        want(status, "post", f"/publish_api/v1/instances/{made['instance']}/publishes/interests",
             {"Authorization": "Bearer " + secret, **json_type}, {"interests": ["a"], "apns": {"aps": {"alert": "a"}}})
    want(422, "post", one + "/rotate", bearer, b"{}")
    want(422, "post", one + "/rotate", bearer, {"key": True, "overlap_seconds": -1})
    want(200, "post", one + "/revoke", bearer)
    want(401, "post", f"/publish_api/v1/instances/{made['instance']}/publishes/interests",
         {"Authorization": "Bearer " + made["secret"], **json_type}, {"interests": ["a"], "apns": {"aps": {"alert": "a"}}})
    want(204, "delete", one, bearer)
    want(404, "post", f"/publish_api/v1/instances/{made['instance']}/publishes/interests",
         {"Authorization": "Bearer " + rotated["secret"], **json_type}, {"interests": ["a"], "apns": {"aps": {"alert": "a"}}})
    want(409, "post", one + "/rotate", bearer, {"key": True})
    nowhere = "/v1/projects/00000000-0000-4000-8000-000000000000"
    for headers, status in ((bearer, 404), (wrong, 401)):
        want(status, "get", nowhere, headers)
        want(status, "put", nowhere, headers, {"project": {}})
        want(status, "delete", nowhere, headers)
        want(status, "post", nowhere + "/rotate", headers, {"key": True})
        want(status, "post", nowhere + "/revoke", headers)


def user_token(instance, secret, user):
    """A user token as the stock SDKs make it."""
    def part(value):
        return base64.urlsafe_b64encode(value).rstrip(b"=")
    claims = {"iss": f"https://{instance}.pushnotifications.pusher.com", "sub": user, "exp": time.time() + 60}
    text = part(b'{"alg":"HS256"}') + b"." + part(json.dumps(claims).encode())
    return (text + b"." + part(hmac.new(secret.encode(), text, hashlib.sha256).digest())).decode()


count = sum(1 for _ in operations())
print(f"{PATH}: valid, {count} operations, {examples} examples fit")
if len(sys.argv) in (5, 6):
    print(f"{check_hub(*sys.argv[1:])} answers of the hub fit")
