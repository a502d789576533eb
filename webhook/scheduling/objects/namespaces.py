"""Namespaces."""

from __future__ import annotations

from webhook.kube.meta import ObjectMeta
from webhook.scheduling.objects.base import ApiObject

__all__ = ["Namespace"]


class Namespace(ApiObject, frozen=True, kw_only=True):
    """A namespace, of which only the labels matter."""

    metadata: ObjectMeta = ObjectMeta()
