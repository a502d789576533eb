"""What a worker's certificates touch in a cluster, in memory: configurations that take JSON Patches, Leases, a watch."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import jsonpatch

from webhook.errors import ApiError, ClusterError
from webhook.kube.replicas import ReplicaLease


@dataclass(frozen=True, kw_only=True)
class Client:
    ca_bundle: bytes
    url: str | None


@dataclass(frozen=True, kw_only=True)
class Entry:
    name: str
    client_config: Client


@dataclass(frozen=True, kw_only=True)
class Read:
    resource_version: str
    webhooks: Sequence[Entry]
    is_injected: bool


class MemoryConfiguration:
    """One webhook configuration; `refusal`, if set, is what each call meets."""

    def __init__(self, *names: str, label: str = "ValidatingWebhookConfiguration custom-scheduler") -> None:
        self.label = label
        self.names = names
        self.refusal: ClusterError | None = None
        self.writes = 0
        self.is_injected = False
        self.webhooks: list[dict[str, Any]] | None = [{"name": name, "clientConfig": {}} for name in names]
        self.before_read: Callable[[], None] = lambda: None
        self.before_patch: Callable[[], None] = lambda: None

    def read(self) -> Read | None:
        self.before_read()
        self._refuse()
        if self.webhooks is None:
            return None
        entries = [
            Entry(
                name=webhook["name"],
                client_config=Client(
                    ca_bundle=base64.b64decode(webhook["clientConfig"].get("caBundle", "")),
                    url=webhook["clientConfig"].get("url"),
                ),
            )
            for webhook in self.webhooks
        ]
        return Read(resource_version=self._version(), webhooks=entries, is_injected=self.is_injected)

    def patch(self, operations: Sequence[Mapping[str, str]]) -> bool:
        self.before_patch()
        self._refuse()
        stored = {
            "metadata": {"resourceVersion": self._version()},
            "webhooks": copy.deepcopy(self.webhooks),
        }
        try:
            patched = jsonpatch.apply_patch(stored, operations)
        except jsonpatch.JsonPatchTestFailed:
            return False
        except jsonpatch.JsonPatchException as error:
            raise ApiError(str(error), status=422, reason="Invalid") from error
        self.webhooks = patched["webhooks"]
        self.writes += 1
        return True

    def bundles(self) -> list[bytes]:
        return [base64.b64decode(each["clientConfig"].get("caBundle", "")) for each in self.webhooks or ()]

    def put(self, bundle: bytes) -> None:
        """Write a caBundle into each entry, as somebody else."""
        for webhook in self.webhooks or ():
            webhook["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()

    def wipe(self) -> None:
        for webhook in self.webhooks or ():
            webhook["clientConfig"].pop("caBundle", None)

    def call_by(self, url: str) -> None:
        for webhook in self.webhooks or ():
            webhook["clientConfig"]["url"] = url

    def _version(self) -> str:
        """Changes with the content, as an API server's does."""
        return hashlib.sha256(json.dumps(self.webhooks).encode()).hexdigest()

    def _refuse(self) -> None:
        if self.refusal is not None:
            raise self.refusal


class MemoryLeases:
    """What each replica told; `refusal`, if set, is what each call but a release meets."""

    def __init__(self) -> None:
        self.told: dict[str, ReplicaLease] = {}
        self.refusal: ClusterError | None = None
        self.writes = 0

    def hold(
        self,
        replica: str,
        fingerprint: str,
        *,
        now: datetime,
        ends_at: datetime,
        following: str | None = None,
    ) -> None:
        self._refuse()
        self.writes += 1
        self.told[replica] = ReplicaLease(
            replica=replica, fingerprint=fingerprint, following=following, renewed_at=now, ends_at=ends_at
        )

    def live(self, now: datetime) -> list[ReplicaLease]:
        self._refuse()
        return [told for told in self.told.values() if told.is_live(now)]

    def release(self, replica: str) -> None:
        self.told.pop(replica, None)

    def _refuse(self) -> None:
        if self.refusal is not None:
            raise self.refusal


class MemoryWatch:
    """Tells of a change when the test says so."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.left = threading.Event()
        self.tell: Callable[[], None] = lambda: None

    @contextmanager
    def __call__(self, changed: Callable[[], None]) -> Iterator[None]:
        self.tell = changed
        self.entered.set()
        yield
        self.left.set()
