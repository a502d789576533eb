"""What all tests share."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    # A shell that starts us in the background has us ignore Ctrl-C, which every program under test would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
