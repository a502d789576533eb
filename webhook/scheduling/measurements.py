"""How long each extension point takes and how often each plugin is asked, collected until somebody fetches it.

To take note costs next to nothing, so that each attempt is counted. The names are those of the labels in
kube-scheduler's metrics (pkg/scheduler/metrics/metrics.go).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from types import TracebackType

from webhook.scheduling.status import Code

__all__ = ["Measurements", "Span"]

# As many as there can be between two fetches of a scheduler that works; then the oldest go.
_MOST_SPANS = 50_000


class Span:
    """One run of an extension point, from entering to leaving; `code` says how it ended if nothing is raised."""

    __slots__ = ("_began", "_measurements", "_point", "code")

    def __init__(self, measurements: Measurements, point: str) -> None:
        self.code = Code.SUCCESS
        self._measurements = measurements
        self._point = point
        self._began = 0.0

    def __enter__(self) -> Span:
        self._began = self._measurements.clock()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        seconds = self._measurements.clock() - self._began
        code = self.code if kind is None else Code.ERROR
        self._measurements.spans.append((self._point, code, seconds))


class Measurements:
    """Those of one profile; without a clock, in seconds, no times are taken.

    Spans may end on any thread; evaluations are counted by the scheduling thread alone.
    """

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self.clock = clock or (lambda: 0.0)
        self.spans: deque[tuple[str, Code, float]] = deque(maxlen=0 if clock is None else _MOST_SPANS)
        # By plugin and extension point: pods that it looked at, or pairs of a pod and a node.
        self.evaluations: Counter[tuple[str, str]] = Counter()

    def span(self, point: str) -> Span:
        """Return a context manager that takes the time of an extension point."""
        return Span(self, point)

    def fetch(
        self, span: Callable[[str, str, float], None], evaluated: Callable[[str, str, int], None]
    ) -> None:
        """Hand over what was collected since the last time, on the scheduling thread.

        `span` hears of extension point, status and seconds; `evaluated` of plugin, extension point and how often.
        """
        for _ in range(len(self.spans)):
            point, code, seconds = self.spans.popleft()
            span(point, code.label, seconds)
        for (plugin, point), number in self.evaluations.items():
            evaluated(plugin, point, number)
        self.evaluations.clear()
