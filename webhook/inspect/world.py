"""All that a decision depends on, as a cluster's lists tell it or as a snapshot of them does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from webhook.errors import ApiError, ClusterError, ConfigurationError
from webhook.inspect.creation_defaults import CreationDefaults, LimitRange, PriorityClass
from webhook.inspect.snapshot import SnapshotWriter, read_snapshot
from webhook.kube.meta import HasMetadata
from webhook.kube.transport import KubeClient
from webhook.scheduling.cache import Cache
from webhook.scheduling.kinds import KINDS, NO_NODE_METRICS, NODE_METRICS_PATH, Kind
from webhook.scheduling.objects import NodeMetrics, Pod
from webhook.scheduling.quantity import InvalidQuantity

__all__ = ["CREATION_KINDS", "World"]

T = TypeVar("T", bound=HasMetadata)

_GONE = 410
_NODE_METRICS_LIST = "NodeMetricsList"
# Of a list: its plural, where it is, and its type. What new pods get; decisions don't read it.
CREATION_KINDS: tuple[tuple[str, str, type[Any]], ...] = (
    ("limitranges", "/api/v1", LimitRange),
    ("priorityclasses", "/apis/scheduling.k8s.io/v1", PriorityClass),
)


class _Items(msgspec.Struct, Generic[T], frozen=True):
    items: tuple[T, ...] | None = ()


class World:
    """A cache to decide on, the pods in it by `namespace/name`, and what new ones would get.

    `tell` hears how far the reading has come, and `notes` say what was left out.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.cache = Cache()
        self.pods: dict[str, Pod] = {}
        self.defaults = CreationDefaults()
        self._kinds = [*KINDS, *(self._creation_kind(*each) for each in CREATION_KINDS)]
        self.notes: list[str] = []
        self._tell = tell
        self._counts: dict[str, int] = {}

    def read_cluster(self, client: KubeClient, *, save_to: SnapshotWriter | None = None) -> None:
        """Take in a cluster; raises ClusterError, as where a right to list is missing."""
        for kind in self._kinds:
            try:
                for page in client.pages(kind.path, query=kind.query):
                    self._take_in(kind, page, source=f"API server {client.host}", fault=ClusterError)
                    if save_to is not None:
                        save_to.add(page)
            except ApiError as error:
                if error.status != _GONE:
                    raise
                raise ClusterError(
                    f"the list of {kind.plural} grew too old while it was read (410); try again"
                ) from error

        self._read_node_metrics(client, save_to)

    def read_snapshot(self, path: Path) -> None:
        """Take in what `save_to` wrote; raises ConfigurationError."""
        kinds = {f"{kind.name}List": kind for kind in self._kinds}
        for name, items in read_snapshot(path):
            if name == _NODE_METRICS_LIST:
                self._measure(items, source=str(path), fault=ConfigurationError)
            elif (kind := kinds.get(name)) is not None:
                self._take_in(kind, items, source=str(path), fault=ConfigurationError)
        if "nodes" not in self._counts:
            raise ConfigurationError(f"{path}: holds no NodeList; give a file that --save-snapshot wrote")

    def _read_node_metrics(self, client: KubeClient, save_to: SnapshotWriter | None) -> None:
        wanted = self.cache.memory.in_use
        if not wanted and save_to is None:
            return
        try:
            measured = client.request("GET", NODE_METRICS_PATH)
        except ApiError as error:
            # A cluster needn't have them.
            if wanted:
                self.notes.append(f"{NO_NODE_METRICS}: {error}")
            return
        self._measure(measured, source=f"API server {client.host}", fault=ClusterError)
        if save_to is not None:
            save_to.add(measured)

    def _measure(
        self, page: bytes | msgspec.Raw, *, source: str, fault: type[ClusterError | ConfigurationError]
    ) -> None:
        try:
            self.cache.memory.measure(msgspec.json.decode(page, type=_Items[NodeMetrics]).items or ())
        except msgspec.DecodeError as error:
            raise fault(
                f"{source}: its node metrics can't be read ({error}); give what an API server wrote"
            ) from error

    def _creation_kind(self, plural: str, api: str, type_: type[Any]) -> Kind[Any]:
        def put(_cache: Cache, item: Any) -> None:
            self.defaults.put(item)

        return Kind(plural, api, type_, put, drop=lambda _cache, _item: None)

    def _take_in(
        self,
        kind: Kind[Any],
        page: bytes | msgspec.Raw,
        *,
        source: str,
        fault: type[ClusterError | ConfigurationError],
    ) -> None:
        items: type[Any] = _Items[kind.type]  # type: ignore[name-defined]  # a type that is known only now
        try:
            found = msgspec.json.decode(page, type=items).items or ()
            for item in found:
                kind.put(self.cache, item)
                if isinstance(item, Pod):
                    self.pods[item.key] = item
        except (msgspec.DecodeError, InvalidQuantity) as error:
            raise fault(
                f"{source}: its {kind.plural} can't be read ({error}); give what an API server wrote"
            ) from error
        self._counts[kind.plural] = self._counts.get(kind.plural, 0) + len(found)
        self._tell(f"{self._counts[kind.plural]:,} {kind.plural} read")
