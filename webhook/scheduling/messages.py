"""What people read about a decision, word for word as kube-scheduler writes it.

Source: pkg/scheduler/framework/types.go (FitError.Error) and schedule_one.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.scheduling.objects import Pod

__all__ = ["NO_NODES", "SCHEDULING_GATED", "fit_error_message", "go_duration", "scheduled_message"]

NO_NODES = "no nodes available to schedule pods"
# The API server's own words, which it puts on a gated pod (pkg/registry/core/pod/strategy.go).
SCHEDULING_GATED = "Scheduling is blocked due to non-empty scheduling gates"


def fit_error_message(
    *, all_nodes: int, reasons: Mapping[str, int], pre_filter: str = "", post_filter: str = ""
) -> str:
    """Return why no node is feasible: `0/5 nodes are available: 3 Insufficient cpu, 2 Too many pods.`

    `reasons` counts nodes by reason. A PreFilter plugin's message stands in for them; a PostFilter
    plugin's follows.
    """
    message = f"0/{all_nodes} nodes are available:"
    if pre_filter:
        message += f" {pre_filter}."
    elif reasons:
        # Sorted as text, count first, so "12 …" comes before "2 …".
        message += f" {', '.join(sorted(f'{count} {reason}' for reason, count in reasons.items()))}."
    if post_filter:
        message += f" {post_filter}"
    return message


def scheduled_message(pod: Pod, node_name: str) -> str:
    """Return the note of the event about a pod that was bound."""
    return f"Successfully assigned {pod.metadata.namespace}/{pod.metadata.name} to {node_name}"


def go_duration(seconds: float) -> str:
    """Return a time as Go prints it, to the millisecond: 1m30s, 2.5s, 250ms."""
    millis = round(seconds * 1000)
    if millis < 1000:
        return f"{millis}ms" if millis else "0s"
    minutes, millis = divmod(millis, 60_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{millis / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{hours}h{text}" if hours else text
