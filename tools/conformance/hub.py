"""A hub of the debug build, for checks that come from outside."""

import contextlib
import json
import os
import signal
import subprocess
import sys

# A proxy of the machine is none for loopback, and one SDK would take it.
for name in list(os.environ):
    if name.lower().endswith("_proxy"):
        del os.environ[name]
CATALOGUE = {"categories": [{"slug": "billing", "label": "Billing", "channels": [
    {"slug": "in_app", "label": "In app"}, {"slug": "email", "label": "E-mail"}]}]}


@contextlib.contextmanager
def hub(peal, folder, *flags):
    """Starts a hub on any ports, with a project of its own, and gives what it printed (`http`, `key`, `secret`, …) and its `pid`; ends it as an
    operator does, and reads what it wrote."""
    os.mkdir(folder)
    with open(folder + "/catalogue.json", "w") as file:
        json.dump(CATALOGUE, file)
    log = open(folder + "/log", "w+")
    process = subprocess.Popen(
        [peal, "hub", "--directory", folder + "/hub", "--http-port", "0", "--websocket-port", "0", "--json",
         "--catalogue", folder + "/catalogue.json", *flags],
        stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        values = {"pid": process.pid}
        while "http" not in values or "secret" not in values:
            line = process.stdout.readline()
            if not line:
                log.seek(0)
                sys.exit("the hub ended: " + log.read())
            values.update(json.loads(line))
        yield values
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=30)
        if process.returncode != 0:
            sys.exit(f"the hub ended with {process.returncode}")
        log.seek(0)
        if values["secret"] in log.read() + rest:
            sys.exit("the hub wrote its secret down")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
