"""Requests that schemathesis makes of schema/rest/openapi.yaml, against a hub.

    generated.py PEAL SCHEMATHESIS EXAMPLES [SURFACE…]

Each surface (inbox, interests, native) is asked twice, with credentials that are good and without any; EXAMPLES is how many requests an operation is
to get of each phase. Every check of schemathesis is on. Exit 1 where one fails.
"""

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request

from hub import hub

peal, schemathesis, examples = sys.argv[1:4]
here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
SURFACES = {
    "inbox": "^/(notifications|notification_preferences|categories|broadcasts|users|push_subscriptions|standing)",
    "interests": "^/(publish|device|reporting|customer|user)_api/",
    "native": "^/(v1/|healthz|readyz|metrics|config)",
}


def post(url, body, headers):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    return json.load(urllib.request.urlopen(request, timeout=10))


def prepared(values, folder):
    """A user with an item and a device, so that requests reach more than 404; and a configuration that names them."""
    admin = {"X-MAGICBELL-API-KEY": values["key"], "X-MAGICBELL-API-SECRET": values["secret"]}
    post(values["http"] + "/notifications", {"notification": {"title": "A", "recipients": [{"external_id": "mary"}]}}, admin)
    base = f"{values['http']}/device_api/v1/instances/{values['instance']}/devices/apns"
    device = post(base, {"token": "a token"}, {})["id"]
    configuration = folder + "/schemathesis.toml"
    with open(configuration, "w") as file:
        file.write(f'[parameters]\ninstance = "{values["instance"]}"\ndevice = "{device}"\nplatform = "apns"\nuser = "external_id:mary"\n')
    return configuration


def credentials(values, surface):
    if surface == "inbox":
        return {"X-MAGICBELL-API-KEY": values["key"], "X-MAGICBELL-API-SECRET": values["secret"],
                "X-MAGICBELL-USER-EXTERNAL-ID": "mary"}
    if surface == "interests":
        return {"Authorization": "Bearer " + values["secret"]}
    pair = f"{values['key']}:{values['secret']}".encode()
    return {"Authorization": "Basic " + base64.b64encode(pair).decode()}


def main():
    status = 0
    for surface in sys.argv[4:] or SURFACES:
        for known in (True, False):
            with tempfile.TemporaryDirectory() as folder, hub(peal, folder + "/hub") as values:
                command = [schemathesis, "--config-file", prepared(values, folder), "run", root + "/schema/rest/openapi.yaml",
                           "--url", values["http"], "--include-path-regex", SURFACES[surface], "--max-examples", examples,
                           "--checks", "all", "--continue-on-failure", "--no-color", "--warnings", "off", "--suppress-health-check", "all"]
                for name, value in credentials(values, surface).items() if known else ():
                    command += ["--header", f"{name}: {value}"]
                found = subprocess.run(
                    command, cwd=folder, env={**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": here},
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                count = re.search(r"(\d+) generated", found.stdout)
                who = "with credentials" if known else "without"
                print(f"{surface}, {who}: {count[1] if count else 0} requests, "
                      + ("every check holds" if found.returncode == 0 else "failures"), flush=True)
                if found.returncode != 0:
                    status = 1
                    print(found.stdout[-20_000:])
                if values["secret"] in found.stdout and found.returncode == 0:
                    sys.exit("an answer holds the secret")
    return status


sys.exit(main())
