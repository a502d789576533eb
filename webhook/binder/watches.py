"""All that the scheduler follows on the API server, a thread for each kind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from webhook.binder.loop import SchedulingLoop
from webhook.binder.takeover import Listing
from webhook.kube.informer import Change, Informer
from webhook.kube.meta import HasMetadata
from webhook.kube.transport import KubeClient
from webhook.scheduling.kinds import KINDS, Kind
from webhook.scheduling.objects import Node, Pod

__all__ = ["Watches"]

T = TypeVar("T", bound=HasMetadata)


# Of changes of these kinds the loop hears apart.
_TELL: dict[type[Any], Callable[[SchedulingLoop, Change[Any]], None]] = {
    Node: SchedulingLoop.node_changed,
    Pod: SchedulingLoop.pod_changed,
}


class Watches:
    """An informer for each kind. `loop` gives the loop that hears of changes; it is asked for only after `start`."""

    def __init__(self, client: KubeClient, loop: Callable[[], SchedulingLoop]) -> None:
        self._loop = loop
        self._informers = {each.plural: self._informer(client, each) for each in KINDS}
        self._unlisted = set(self._informers)
        self._threads = {
            plural: threading.Thread(target=informer.run, name=plural, daemon=True)
            for plural, informer in self._informers.items()
        }

    @property
    def listings(self) -> Sequence[Listing]:
        """All of them, for a new leader to read anew."""
        return list(self._informers.values())

    def start(self) -> None:
        """Begin to list and watch."""
        for thread in self._threads.values():
            thread.start()

    def stop(self) -> None:
        """End all watches."""
        for informer in self._informers.values():
            informer.stop()
        for thread in self._threads.values():
            thread.join()

    def not_ready(self) -> list[str]:
        """Return what is not known, or not kept true, at present; empty if all is."""
        reasons = []
        for plural, informer in self._informers.items():
            if not self._threads[plural].is_alive():
                reasons.append(f"thread {plural} has died")
            elif informer.fault is not None:
                reasons.append(f"{plural} can't be followed: {informer.fault}")
            elif plural in self._unlisted:
                reasons.append(f"{plural} are not listed yet")
        return reasons

    def _informer(self, client: KubeClient, kind: Kind[T]) -> Informer[T]:
        apart = _TELL.get(kind.type)

        def tell(change: Change[T]) -> None:
            if apart is not None:
                apart(self._loop(), change)
            else:
                self._loop().other_changed(kind, change)

        def listed() -> None:
            self._unlisted.discard(kind.plural)
            self._loop().listed(informer)

        informer: Informer[T] = Informer(
            client,
            kind.path,
            kind.type,
            tell,
            query=kind.query,
            on_synced=listed,
        )
        return informer
