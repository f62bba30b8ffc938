"""What all tests start from."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Lets the programs under test be interrupted, also where the tests run in the background.

    A shell without job control starts what it does not wait for with SIGINT ignored, and all that this starts
    inherits it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
