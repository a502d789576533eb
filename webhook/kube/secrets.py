"""One Secret, read and written with optimistic locking."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from webhook.errors import ApiError
from webhook.kube.meta import ObjectMeta
from webhook.kube.transport import KubeClient
from webhook.kube.watching import Place

__all__ = ["KubeSecretStore", "Secret"]

_CONFLICT, _NOT_FOUND = 409, 404


@dataclass(frozen=True, kw_only=True, slots=True)
class Secret:
    """What was in the Secret at one moment."""

    data: Mapping[str, bytes]
    resource_version: str


class KubeSecretStore:
    """The Secret `namespace/name` in a cluster. All methods raise ClusterError when it can't be reached."""

    def __init__(self, client: KubeClient, *, namespace: str, name: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._path = f"/api/v1/namespaces/{namespace}/secrets"
        self.place = Place(list_path=self._path, name=name)

    def read(self) -> Secret | None:
        """Return the Secret as it is now, or None if there is none."""
        raw = self._get()
        return None if raw is None else _decode(raw)

    def create(self, data: Mapping[str, bytes]) -> Secret | None:
        """Make the Secret and return it, or None if somebody else was first."""
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "Opaque",
            "metadata": {"name": self._name, "namespace": self._namespace},
            "data": _encode(data),
        }
        return self._write("POST", self._path, secret, lost_on=(_CONFLICT,))

    def replace(self, data: Mapping[str, bytes], *, resource_version: str) -> Secret | None:
        """Put `data` in place of all that the Secret held at `resource_version`; labels and the like stay.

        Returns the new state, or None if the Secret was written or deleted since.
        """
        raw = self._get()
        if raw is None or _decode(raw).resource_version != resource_version:
            return None
        secret: dict[str, Any] = msgspec.json.decode(raw)
        secret["data"] = _encode(data)
        return self._write("PUT", f"{self._path}/{self._name}", secret, lost_on=(_CONFLICT, _NOT_FOUND))

    def _get(self) -> bytes | None:
        try:
            return self._client.request("GET", f"{self._path}/{self._name}")
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return None
            raise

    def _write(
        self, method: str, path: str, secret: dict[str, Any], *, lost_on: tuple[int, ...]
    ) -> Secret | None:
        try:
            return _decode(self._client.request(method, path, body=msgspec.json.encode(secret)))
        except ApiError as error:
            if error.status in lost_on:
                return None
            raise


class _Secret(msgspec.Struct):
    metadata: ObjectMeta
    # Values travel in base64, which is how msgspec reads bytes.
    data: dict[str, bytes] | None = None


def _decode(raw: bytes) -> Secret:
    decoded = msgspec.json.decode(raw, type=_Secret)
    return Secret(data=decoded.data or {}, resource_version=decoded.metadata.resource_version)


def _encode(data: Mapping[str, bytes]) -> dict[str, str]:
    return {key: base64.b64encode(value).decode("ascii") for key, value in data.items()}
