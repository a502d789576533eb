"""The program, as `custom-scheduler` and as `python -m webhook`."""

from __future__ import annotations

import os
import signal
from types import FrameType

__all__ = ["main"]

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def main() -> None:
    """Run the command line. Until a command takes them over, SIGINT and SIGTERM end it without a word.

    The exit code is then 130 or 143, as a shell has it. SIGTERM too needs a handler: the kernel drops it where the
    program is a container's first process and has none (signal(7)).
    """
    # Before anything else, since importing the rest takes long enough for an impatient person.
    for number in _STOP_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    from webhook.cli import main as run

    run()


def _leave(number: int, frame: FrameType | None) -> None:
    for other in _STOP_SIGNALS:
        signal.signal(other, _leave_at_once)
    if _is_importing(frame):
        # An exception would be shown by importlib's callbacks, or become an ImportError in a C extension.
        _leave_at_once(number, frame)
    raise SystemExit(128 + number)


def _leave_at_once(number: int, _frame: FrameType | None) -> None:
    os._exit(128 + number)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


if __name__ == "__main__":
    main()
