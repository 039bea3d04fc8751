"""The work of tools/check-openapi."""

import json
import sys
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


def call(base, method, path, headers=None, body=None):
    """Calls the hub and checks the answer against what the document says of it."""
    target = path.split("?")[0]
    template, operation = next(
        (template, operation) for template, m, operation in operations()
        if m == method and len(template.split("/")) == len(target.split("/"))
        and all(a == b or a.startswith("{") for a, b in zip(template.split("/"), target.split("/"))))
    request = urllib.request.Request(base + path, method=method.upper(), headers=headers or {}, data=body)
    try:
        answer = urllib.request.urlopen(request, timeout=10)
    except urllib.error.HTTPError as error:
        answer = error
    status, text = answer.status, answer.read()
    what = f"{method} {path}: {status}"
    if str(status) not in operation["responses"]:
        sys.exit(f"{what} is not in the document")
    media_type = answer.headers["Content-Type"].split(";")[0]
    content = resolved(operation["responses"][str(status)])["content"]
    if media_type not in content:
        sys.exit(f"{what} has the type {media_type}")
    value = json.loads(text) if media_type == "application/json" else text.decode()
    check(content[media_type]["schema"], value, what)
    return status


def check_hub(base, instance, key, secret):
    json_type = {"Content-Type": "application/json"}
    bearer = {"Authorization": "Bearer " + secret, **json_type}
    admin = {"X-MAGICBELL-API-KEY": key, "X-MAGICBELL-API-SECRET": secret, **json_type}
    user = {"X-MAGICBELL-API-KEY": key, "X-MAGICBELL-API-SECRET": secret, "X-MAGICBELL-USER-EXTERNAL-ID": "mary"}
    publishes = f"/publish_api/v1/instances/{instance}/publishes"
    calls = [
        (200, "get", "/healthz", None, None), (200, "get", "/config", None, None),
        (404, "get", "/notifications", {**user, "X-MAGICBELL-USER-EXTERNAL-ID": "nobody at all"}, None),
        (401, "get", "/notifications", None, None), (422, "get", "/notifications?page=x", user, None),
        (401, "post", "/notifications", json_type, b"{}"), (400, "post", "/notifications", admin, b"{"),
        (422, "post", "/notifications", admin, b"{}"), (413, "post", "/notifications", admin, b" " * 300000),
    ]
    for path, method, operation in operations():
        body = resolved(operation.get("requestBody", {})).get("content", {}).get("application/json", {}).get("example")
        if body is None:
            continue
        data = json.dumps(body).encode()
        if path == "/notifications":
            calls.append((201, method, path, admin, data))
            continue
        path = path.replace("{instance}", instance)
        calls += [
            (200, method, path, bearer, data), (400, method, path, bearer, b"["), (422, method, path, bearer, b"{}"),
            (400, method, path, bearer, b" " * 250000), (401, method, path, json_type, data),
            (404, method, path.replace(instance, "00000000-0000-4000-8000-000000000000"), bearer, data),
        ]
    calls += [(200, "get", "/standing?position=0", user, None), (422, "get", "/standing?position=x", user, None),
              (404, "get", "/standing?inbox=0", admin, None), (401, "get", "/standing", None, None)]
    calls += [(200, "get", "/notifications", user, None), (200, "get", "/notifications?per_page=1&read=false", user, None)]
    for wanted, *arguments in calls:
        status = call(base, *arguments)
        if status != wanted:
            sys.exit(f"{arguments[0]} {arguments[1]}: {status}, not {wanted}")
    return len(calls)


count = sum(1 for _ in operations())
print(f"{PATH}: valid, {count} operations, {examples} examples fit")
if len(sys.argv) == 5:
    print(f"{check_hub(*sys.argv[1:])} answers of the hub fit")
