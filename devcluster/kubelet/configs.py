"""Where the content of volumes comes from: the cluster's ConfigMaps and Secrets by watch, tokens on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from devcluster.errors import PodError, RequestError
from devcluster.kubelet.objects import Object, ObjectCache, Source

__all__ = ["ClusterConfigs"]

_TOKEN_SECONDS = 3600


class ClusterConfigs:
    """All ConfigMaps and Secrets of the cluster; `on_change` is called after each change of one."""

    def __init__(self, source: Source, on_change: Callable[[], None]) -> None:
        self._source = source
        self._config_maps = ObjectCache(source, "/api/v1/configmaps", on_change)
        self._secrets = ObjectCache(source, "/api/v1/secrets", on_change)

    def start(self) -> None:
        """Begin to follow them."""
        self._config_maps.start()
        self._secrets.start()

    def config_map(self, namespace: str, name: str) -> Object | None:
        """Return a ConfigMap, or None if there is none."""
        return _of_kind("ConfigMap", self._config_maps.get(namespace, name))

    def secret(self, namespace: str, name: str) -> Object | None:
        """Return a Secret, or None if there is none."""
        return _of_kind("Secret", self._secrets.get(namespace, name))

    def token(self, pod: Object, source: Mapping[str, Any]) -> bytes:
        """Ask for a token of the pod's ServiceAccount that ends with the pod; raises PodError."""
        metadata = pod["metadata"]
        account = pod["spec"]["serviceAccountName"]
        bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        spec = {"expirationSeconds": source.get("expirationSeconds", _TOKEN_SECONDS), "boundObjectRef": bound}
        if "audience" in source:
            spec["audiences"] = [source["audience"]]
        try:
            answer = self._source.request(
                "POST",
                f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token",
                {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec},
            )
        except RequestError as error:
            raise PodError(f"no token for ServiceAccount {account}: {error}") from error
        return str(answer["status"]["token"]).encode()


def _of_kind(kind: str, found: Object | None) -> Object | None:
    # The items of a list don't say what they are, and the objects of a watch do.
    return None if found is None else {**found, "kind": kind}
