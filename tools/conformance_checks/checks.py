"""What the conformance checks share: counting, and the proofs of users."""

import base64
import hashlib
import hmac
import os
import sys


class Checks:
    """Counts what held and names what did not."""

    def __init__(self, client):
        self.client, self.held, self.broken = client, 0, []

    def that(self, name, holds, seen=None):
        """A claim, with what was seen instead."""
        if holds:
            self.held += 1
        else:
            self.broken.append(name)
            print(f"  not so: {name} (seen: {seen!r})")

    def does(self, name, act):
        """An act that raises nothing; its result."""
        try:
            result = act()
        except Exception as error:  # noqa: BLE001 - any error breaks the claim
            self.that(name, False, error)
            return None
        self.that(name, True)
        return result

    def refuses(self, name, kind, act):
        """An act that raises an error of a kind, which says something."""
        try:
            seen = act()
        except kind as error:
            self.that(name, bool(str(error)) and "no description" not in str(error), error)
        except Exception as error:  # noqa: BLE001
            self.that(name, False, error)
        else:
            self.that(name, False, seen)

    def close(self):
        """Tells the count and ends the process."""
        print(f"{self.client}: {self.held} held, {len(self.broken)} did not")
        sys.exit(1 if self.broken else 0)


def without_proxies():
    """Loopback goes through no proxy."""
    for name in list(os.environ):
        if name.lower() in ("http_proxy", "https_proxy", "all_proxy"):
            del os.environ[name]


def user_hmac(secret, subject):
    """base64(HMAC-SHA256(secret, subject))."""
    return base64.b64encode(hmac.new(secret.encode(), subject.encode(), hashlib.sha256).digest()).decode()
