"""Claims, checked one after the other: all are tried, and the exit status tells whether each held."""

import contextlib


class Checks:
    def __init__(self):
        self.count = 0
        self.failures = []

    def that(self, claim, held, found=None):
        """Notes whether a claim held; `found` is shown where it did not."""
        self.count += 1
        if not held:
            self.failures.append(claim)
            print(f"failed: {claim}: {found!r:.600}", flush=True)

    @contextlib.contextmanager
    def claim(self, claim):
        """A claim that holds where its body raises nothing."""
        try:
            yield
        except Exception as error:  # whatever it is, the claim did not hold
            self.that(claim, False, error)
        else:
            self.that(claim, True)

    @contextlib.contextmanager
    def refused(self, claim, kind, holds=lambda error: True):
        """A claim that holds where its body raises an error of a kind, of which something is true."""
        try:
            yield
        except kind as error:
            self.that(claim, holds(error), error)
        except Exception as error:
            self.that(claim, False, error)
        else:
            self.that(claim, False, "nothing was refused")

    def end(self, what):
        """Tells how it went, and gives the exit status."""
        print(f"{what}: {self.count - len(self.failures)} of {self.count} hold", flush=True)
        return 1 if self.failures else 0
