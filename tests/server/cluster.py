"""What a worker's certificates touch in a cluster, in memory: configurations that take JSON Patches, and a watch."""

from __future__ import annotations

import base64
import copy
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jsonpatch

from certs.bundle import WebhookEntry
from webhook.errors import ApiError, ClusterError


@dataclass(frozen=True, kw_only=True)
class Client:
    ca_bundle: bytes
    url: str | None


@dataclass(frozen=True, kw_only=True)
class Entry:
    name: str
    client_config: Client


class MemoryConfiguration:
    """One webhook configuration; `refusal`, if set, is what each call meets."""

    def __init__(self, *names: str, label: str = "ValidatingWebhookConfiguration custom-scheduler") -> None:
        self.label = label
        self.refusal: ClusterError | None = None
        self.writes = 0
        self.webhooks: list[dict[str, Any]] | None = [{"name": name, "clientConfig": {}} for name in names]
        self.before_patch: Callable[[], None] = lambda: None

    def read(self) -> Sequence[WebhookEntry] | None:
        self._refuse()
        if self.webhooks is None:
            return None
        return [
            Entry(
                name=webhook["name"],
                client_config=Client(
                    ca_bundle=base64.b64decode(webhook["clientConfig"].get("caBundle", "")),
                    url=webhook["clientConfig"].get("url"),
                ),
            )
            for webhook in self.webhooks
        ]

    def patch(self, operations: Sequence[Mapping[str, str]]) -> None:
        self.before_patch()
        self._refuse()
        try:
            patched = jsonpatch.apply_patch({"webhooks": copy.deepcopy(self.webhooks)}, operations)
        except jsonpatch.JsonPatchException as error:
            raise ApiError(str(error), status=422, reason="Invalid") from error
        self.webhooks = patched["webhooks"]
        self.writes += 1

    def bundles(self) -> list[bytes]:
        return [entry.client_config.ca_bundle for entry in self.read() or ()]

    def wipe(self) -> None:
        for webhook in self.webhooks or ():
            webhook["clientConfig"].pop("caBundle", None)

    def call_by(self, url: str) -> None:
        for webhook in self.webhooks or ():
            webhook["clientConfig"]["url"] = url

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
