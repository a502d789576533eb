"""Services and controllers: what says which pods are replicas of each other."""

from __future__ import annotations

import msgspec

from webhook.kube.meta import ObjectMeta
from webhook.scheduling.objects.base import ApiObject
from webhook.scheduling.objects.selectors import LabelSelector

__all__ = ["ReplicaSet", "ReplicationController", "Service", "StatefulSet"]


class _MapSelectorSpec(ApiObject, frozen=True, kw_only=True):
    selector: dict[str, str] = msgspec.field(default_factory=dict)


class _LabelSelectorSpec(ApiObject, frozen=True, kw_only=True):
    selector: LabelSelector | None = None


class Service(ApiObject, frozen=True, kw_only=True):
    """A Service; without a selector it stands for no pods."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _MapSelectorSpec = _MapSelectorSpec()


class ReplicationController(ApiObject, frozen=True, kw_only=True):
    """A ReplicationController."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _MapSelectorSpec = _MapSelectorSpec()


class ReplicaSet(ApiObject, frozen=True, kw_only=True):
    """A ReplicaSet."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _LabelSelectorSpec = _LabelSelectorSpec()


class StatefulSet(ApiObject, frozen=True, kw_only=True):
    """A StatefulSet."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _LabelSelectorSpec = _LabelSelectorSpec()
