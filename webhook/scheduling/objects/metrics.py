"""What metrics.k8s.io tells of a node."""

from __future__ import annotations

import msgspec

from webhook.kube.meta import ObjectMeta
from webhook.scheduling.objects.base import ApiObject, ResourceList

__all__ = ["NodeMetrics"]


class NodeMetrics(ApiObject, frozen=True, kw_only=True):
    """A measurement of one node. Source: k8s.io/metrics/pkg/apis/metrics/v1beta1/types.go.

    `window` is a Go duration: over how long the usage was measured, up to `timestamp`.
    """

    metadata: ObjectMeta = ObjectMeta()
    timestamp: str = ""
    window: str = ""
    usage: ResourceList = msgspec.field(default_factory=dict)
