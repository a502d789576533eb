"""A thread that runs only while the world waits for it, so that what it does can stop in the middle."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Ended(BaseException):
    """What an actor was in the middle of ends here."""


class Actor:
    """Does one thing at a time. `do` and `resume` return when it is done or has paused; `end` has to be called."""

    def __init__(self) -> None:
        self.is_busy = False
        self._action: Callable[[], None] = lambda: None
        self._failure: BaseException | None = None
        self._is_ended = False
        # Each is released by the one and acquired by the other: a lock that passes the turn on.
        self._turn, self._back = threading.Lock(), threading.Lock()
        self._turn.acquire()
        self._back.acquire()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def do(self, action: Callable[[], None]) -> None:
        """Begin something; raises what it raises."""
        self._action, self.is_busy = action, True
        self.resume()

    def resume(self) -> None:
        """Go on after a pause; raises what that raises."""
        if not self.is_busy:
            return
        self._turn.release()
        self._back.acquire()
        if self._failure is not None:
            raise self._failure

    def pause(self) -> None:
        """Let the world go on, until it resumes this; raises Ended if that isn't to be. Called by what is done."""
        self._back.release()
        self._turn.acquire()
        if self._is_ended:
            raise Ended

    def end(self) -> None:
        """End, in the middle of what is done too."""
        self._is_ended = True
        self._turn.release()
        self._thread.join()
        self.is_busy = False

    def _run(self) -> None:
        while True:
            self._turn.acquire()
            if self._is_ended:
                return
            try:
                self._action()
            except Ended:
                return
            except BaseException as failure:  # noqa: BLE001 (raised again where it is waited for)
                self._failure = failure
            self.is_busy = False
            self._back.release()
