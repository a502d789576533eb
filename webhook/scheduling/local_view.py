"""A pod without what it has of its own, as it is shown to the plugins of others that look at each node by itself.

Their answers are kept for all pods of which they see the same, so what they see is all that the answers can come from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import msgspec

from webhook.kube.meta import ObjectMeta
from webhook.scheduling.objects import Pod, Volume

__all__ = ["local_view"]

# The API server gives each pod a volume with its token, under a name of its own
# (plugin/pkg/admission/serviceaccount).
_TOKEN_VOLUME = "kube-api-access"  # noqa: S105 (the name of a volume)


def _hidden(field: str) -> property:
    def refuse(_metadata: ObjectMeta) -> NoReturn:
        raise LookupError(
            f"a plugin with `local` can't read metadata.{field}, which each pod has of its own; leave out `local`"
        )

    return property(refuse)


class _SharedMeta(ObjectMeta, frozen=True, kw_only=True, gc=False):
    """The metadata that replicas of a workload have in common. To read another field raises LookupError."""

    if not TYPE_CHECKING:
        name = _hidden("name")
        uid = _hidden("uid")
        resource_version = _hidden("resourceVersion")
        creation_timestamp = _hidden("creationTimestamp")


_SHARED = tuple(
    field for field in ObjectMeta.__struct_fields__ if not isinstance(vars(_SharedMeta).get(field), property)
)


def local_view(pod: Pod) -> Pod:
    """Return the pod with metadata that raises LookupError for its name, uid, version and time of creation.

    The volume with its token has the same name in all pods; everything else is as it is.
    """
    shared = _SharedMeta(**{field: getattr(pod.metadata, field) for field in _SHARED})
    volumes = tuple(map(_without_token_name, pod.spec.volumes))
    spec = msgspec.structs.replace(pod.spec, volumes=volumes)
    return msgspec.structs.replace(pod, metadata=shared, spec=spec)


def _without_token_name(volume: Volume) -> Volume:
    if volume.name.startswith(f"{_TOKEN_VOLUME}-"):
        return msgspec.structs.replace(volume, name=_TOKEN_VOLUME)
    return volume
