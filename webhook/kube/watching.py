"""Word of changes to single objects, without keeping the objects."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from webhook.kube.informer import Informer
from webhook.kube.meta import ObjectMeta
from webhook.kube.transport import KubeClient

__all__ = ["Place", "watching"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where an object is: the path of its list, and its name."""

    list_path: str
    name: str


@contextmanager
def watching(client: KubeClient, places: Sequence[Place], changed: Callable[[], None]) -> Iterator[None]:
    """Call `changed`, from threads of its own, whenever one of these objects comes, changes or goes."""
    informers = [
        Informer(
            client,
            place.list_path,
            _Named,
            lambda _change: changed(),
            # By name alone: the right to list and watch can be limited to this name, and then needs the selector.
            query=[("fieldSelector", f"metadata.name={place.name}")],
        )
        for place in places
    ]
    threads = [
        threading.Thread(target=informer.run, name=f"watch-{place.name}", daemon=True)
        for informer, place in zip(informers, places, strict=True)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for informer in informers:
            informer.stop()
        for thread in threads:
            thread.join()


class _Named(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
