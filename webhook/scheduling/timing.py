"""How long plugins take: some of their calls are timed, as kube-scheduler does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from webhook.scheduling.plugin_set import Enabled, PluginSet
from webhook.scheduling.status import Code, Status

__all__ = ["Timing", "timed"]

# Of so many decisions or later steps, one is timed (frameworkruntime, pluginMetricsSamplePercent).
ONE_IN = 10


@dataclass(frozen=True, slots=True)
class Timing:
    """A clock in seconds, and who hears of plugin, extension point, status and seconds, on any thread."""

    clock: Callable[[], float]
    report: Callable[[str, str, str, float], None]


def timed(plugins: PluginSet, timing: Timing) -> PluginSet:
    """Return the same plugins, with each call reported."""
    points: dict[str, Any] = {
        field.name: tuple(_with_clock(each, field.name, timing) for each in enabled)
        for field in fields(plugins)
        if isinstance(enabled := getattr(plugins, field.name), tuple)
    }
    normalize: dict[str, Any] = {
        name: _Timed(plugin, name, "normalize_score", timing) for name, plugin in plugins.normalize.items()
    }
    return replace(plugins, **points, normalize=normalize)


def _with_clock(each: Enabled[Any], point: str, timing: Timing) -> Enabled[Any]:
    return Enabled(each.name, _Timed(each.plugin, each.name, point, timing), each.weight)


class _Timed:
    """A plugin at one extension point; all else of it stays as it is."""

    def __init__(self, plugin: object, name: str, point: str, timing: Timing) -> None:
        self._plugin = plugin
        self._name = name
        # `reserve` and `unreserve` are one extension point of ours and two in the metric.
        self._points = {"reserve", "unreserve"} if point == "reserve" else {point}
        self._timing = timing

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(self._plugin, attribute)
        if attribute not in self._points:
            return found

        def call(*args: Any) -> Any:
            started_at = self._timing.clock()
            status = Code.ERROR
            try:
                answer = found(*args)
                status = answer.code if isinstance(answer, Status) else Code.SUCCESS
            finally:
                seconds = self._timing.clock() - started_at
                self._timing.report(self._name, _label(attribute), status.label, seconds)
            return answer

        return call


def _label(method: str) -> str:
    """The extension point as kube-scheduler's metrics name it."""
    if method == "normalize_score":
        return "ScoreExtensionNormalize"
    return method.title().replace("_", "")
