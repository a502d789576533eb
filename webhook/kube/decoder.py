"""Lists and watch events as objects of one type; what doesn't fit the type hides nothing else."""

from __future__ import annotations

import logging
from typing import Any, Generic, TypeVar

import msgspec

from webhook.kube.meta import HasMetadata, ListMeta, ObjectMeta

__all__ = ["Decoder", "Event", "Page", "metadata_of"]

T = TypeVar("T", bound=HasMetadata)

log = logging.getLogger("custom_scheduler.kube")


class Page(msgspec.Struct, Generic[T]):
    """A list, or a page of one."""

    metadata: ListMeta = ListMeta()
    items: list[T] | None = None


class Event(msgspec.Struct):
    """A line of a watch; `object` is a view of the line, to be decoded at once and not to be kept."""

    type: str
    object: msgspec.Raw


class Decoder(Generic[T]):
    """Reads objects as `kind`, a msgspec Struct. One that doesn't fit it is logged and left out.

    All methods raise msgspec.DecodeError for what is no JSON, or no such thing at all.
    """

    def __init__(self, kind: type[T], path: str) -> None:
        self._path = path
        page: Any = Page
        self._page: msgspec.json.Decoder[Page[T]] = msgspec.json.Decoder(page[kind])
        self._item = msgspec.json.Decoder(kind)
        self._event = msgspec.json.Decoder(Event)

    def page(self, raw: bytes) -> Page[T]:
        """Return the list in an answer."""
        try:
            return self._page.decode(raw)
        except msgspec.ValidationError:
            loose = msgspec.json.decode(raw, type=_RawPage)
            items = [self.item(each) for each in loose.items or ()]
            return Page(metadata=loose.metadata, items=[item for item in items if item is not None])

    def item(self, raw: msgspec.Raw) -> T | None:
        """Return one object, or None if it doesn't fit."""
        try:
            return self._item.decode(raw)
        except msgspec.ValidationError as error:
            reason = str(error)
        log.error("%s in %s can't be read and is left out: %s", metadata_of(raw).key, self._path, reason)
        return None

    def event(self, line: bytes) -> Event:
        """Return the event in a line of a watch."""
        return self._event.decode(line)


def metadata_of(raw: msgspec.Raw) -> ObjectMeta:
    """Return an object's metadata and skip the rest."""
    return msgspec.json.decode(raw, type=_Bare).metadata


class _RawPage(msgspec.Struct):
    metadata: ListMeta = ListMeta()
    items: list[msgspec.Raw] | None = None


class _Bare(msgspec.Struct):
    metadata: ObjectMeta = ObjectMeta()
