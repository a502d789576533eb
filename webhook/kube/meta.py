"""What every Kubernetes object says about itself, decoded partially with msgspec."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

import msgspec

__all__ = ["HasMetadata", "ListMeta", "ObjectMeta", "OwnerReference", "Status", "micro_time"]

# gc=False: decoded JSON can't hold a cycle, and walking a hundred thousand such objects is most of what the
# cyclic collector would otherwise do in a large cluster.


class OwnerReference(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """One entry of `metadata.ownerReferences`."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """The part of `metadata` that this project reads; times stay RFC 3339 text."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None

    @property
    def key(self) -> str:
        """`namespace/name`, or the bare name of an object that has no namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class HasMetadata(Protocol):
    """Any decoded Kubernetes object."""

    @property
    def metadata(self) -> ObjectMeta:
        """The object's `metadata`."""


class ListMeta(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`metadata` of a list: the version to watch from, and the token of the next page."""

    resource_version: str = msgspec.field(name="resourceVersion", default="")
    continue_: str = msgspec.field(name="continue", default="")


class StatusCause(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One entry of `details.causes`."""

    reason: str = ""


class StatusDetails(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a `Status` says beside its message."""

    causes: tuple[StatusCause, ...] | None = None


class Status(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The API server's answer when there is no object to give (`metav1.Status`)."""

    code: int = 0
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None

    @property
    def causes(self) -> set[str]:
        """The reasons of its causes."""
        return {cause.reason for cause in (self.details and self.details.causes) or ()}


def micro_time(seconds: float) -> str:
    """Return seconds since the epoch as Kubernetes' MicroTime: RFC 3339 in UTC with six decimals."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
