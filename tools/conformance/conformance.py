"""The work of tools/check-conformance: hubs, and clients of others against them.

    conformance.py PEAL VENV_MAGICBELL VENV_BELFRY
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

peal, magicbell, belfry = sys.argv[1:4]
here = os.path.dirname(os.path.abspath(__file__))
# A proxy of the machine is none for loopback, and one SDK would take it.
for name in list(os.environ):
    if name.lower().endswith("_proxy"):
        del os.environ[name]
CATALOGUE = {"categories": [{"slug": "billing", "label": "Billing", "channels": [
    {"slug": "in_app", "label": "In app"}, {"slug": "email", "label": "E-mail"}]}]}


@contextlib.contextmanager
def hub(folder, *flags):
    """A hub of the debug build on any port, with a project of its own; ended as an operator does, and what it wrote is read."""
    os.mkdir(folder)
    with open(folder + "/catalogue.json", "w") as file:
        json.dump(CATALOGUE, file)
    log = open(folder + "/log", "w+")
    process = subprocess.Popen(
        [peal, "hub", "--directory", folder + "/hub", "--http-port", "0", "--websocket-port", "0", "--json",
         "--catalogue", folder + "/catalogue.json", *flags],
        stdout=subprocess.PIPE, stderr=log, text=True)
    said = []
    try:
        values = {}
        while "http" not in values or "secret" not in values:
            line = process.stdout.readline()
            if not line:
                log.seek(0)
                sys.exit("the hub ended: " + log.read())
            values.update(json.loads(line))
            said.append(line)
        yield values
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=20)
        if process.returncode != 0:
            sys.exit(f"the hub ended with {process.returncode}")
        log.seek(0)
        if values["secret"] in log.read() + rest:
            sys.exit("the hub wrote its secret down")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def run(python, script, *arguments):
    return subprocess.run([python, f"{here}/{script}", *arguments], timeout=300).returncode


def main():
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        with hub(folder + "/plain") as plain:
            key, secret, instance = plain["key"], plain["secret"], plain["instance"]
            address = plain["http"].removeprefix("http://").rstrip("/")
            status |= run(f"{magicbell}", "inbox.py", "magicbell", plain["http"], key, secret)
            status |= run(f"{belfry}", "inbox.py", "belfry", plain["http"], key, secret)
            status |= run(sys.executable, "beams.py", address, instance, secret)
        certificate, private = folder + "/certificate.pem", folder + "/key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", private,
             "-out", certificate], check=True, stderr=subprocess.DEVNULL)
        with hub(folder + "/tls", "--tls-cert", certificate, "--tls-key", private) as tls:
            address = tls["http"].removeprefix("https://").rstrip("/")
            status |= run(sys.executable, "beams.py", address, tls["instance"], tls["secret"], certificate)
    return status


sys.exit(main())
