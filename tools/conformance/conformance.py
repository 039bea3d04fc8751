"""The work of tools/check-conformance: hubs, and clients of others against them.

    conformance.py PEAL VENV_MAGICBELL VENV_BELFRY
"""

import os
import subprocess
import sys
import tempfile

from hub import hub

peal, magicbell, belfry = sys.argv[1:4]
here = os.path.dirname(os.path.abspath(__file__))


def run(python, script, *arguments):
    return subprocess.run([python, f"{here}/{script}", *arguments], timeout=300).returncode


def main():
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        with hub(peal, folder + "/plain") as plain:
            key, secret, instance = plain["key"], plain["secret"], plain["instance"]
            address = plain["http"].removeprefix("http://").rstrip("/")
            status |= run(magicbell, "inbox.py", "magicbell", plain["http"], key, secret)
            status |= run(belfry, "inbox.py", "belfry", plain["http"], key, secret)
            status |= run(sys.executable, "beams.py", address, instance, secret)
        certificate, private = folder + "/certificate.pem", folder + "/key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", private,
             "-out", certificate], check=True, stderr=subprocess.DEVNULL)
        with hub(peal, folder + "/tls", "--tls-cert", certificate, "--tls-key", private) as tls:
            address = tls["http"].removeprefix("https://").rstrip("/")
            status |= run(sys.executable, "beams.py", address, tls["instance"], tls["secret"], certificate)
    return status


sys.exit(main())
