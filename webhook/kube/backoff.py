"""How long to wait before asking an API server in trouble again."""

from __future__ import annotations

import random
from collections.abc import Callable

from webhook.kube.transport import ThrottledError

__all__ = ["Backoff"]


class Backoff:
    """Waits that double from `first` to `longest` seconds, each stretched by up to as much again at random.

    As client-go's reflector waits, but less long: it is made for a fleet of thousands, we are a few replicas.
    """

    def __init__(
        self, *, first: float = 0.8, longest: float = 10.0, rng: Callable[[], float] = random.random
    ) -> None:
        self._first = first
        self._longest = longest
        self._rng = rng
        self._failures = 0

    def after(self, error: Exception | None = None) -> float:
        """Return the seconds to wait after one more failure, at least as long as the server asks for."""
        base = min(self._longest, self._first * 2.0**self._failures)
        self._failures += base < self._longest
        asked = error.retry_after if isinstance(error, ThrottledError) else None
        return max(base * (1 + self._rng()), asked or 0.0)

    def reset(self) -> None:
        """Begin again with the shortest wait: something worked."""
        self._failures = 0
