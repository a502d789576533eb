"""The extension points that a profile's plugins have for nothing here."""

from __future__ import annotations

import logging
from collections import defaultdict

from webhook.scheduling.plugin_set import PluginSet
from webhook.scheduling.plugins import register_built_in
from webhook.scheduling.registry import Registry

__all__ = ["tell_of_unasked_points"]

log = logging.getLogger("custom_scheduler.extender")

# The other steps of the decision are kube-scheduler's own, and its protocol tells us of none
# (k8s.io/kube-scheduler/extender/v1).
_UNASKED = ("pre_enqueue", "queue_sort", "post_filter", "reserve", "permit", "pre_bind", "bind", "post_bind")


def tell_of_unasked_points(plugins: PluginSet) -> None:
    """Log which plugins of others would do something at a point that kube-scheduler asks no extender about."""
    built_in = Registry()
    register_built_in(built_in)
    unasked: defaultdict[str, list[str]] = defaultdict(list)
    for point in _UNASKED:
        enabled = getattr(plugins, point)
        # There is always one that sorts the queue, and nothing but one.
        for each in enabled if isinstance(enabled, tuple) else (enabled,):
            if each.name not in built_in:
                unasked[each.name].append(point.title().replace("_", ""))
    for name, points in unasked.items():
        log.warning(
            "plugin %s does nothing at %s here: kube-scheduler asks an extender for filters and scores only",
            name,
            ", ".join(points),
        )
