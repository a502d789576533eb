"""JSON requests to a server of the cluster, over TLS verified with the cluster's authority."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import urllib3

from devcluster.errors import DevClusterError, RequestError

__all__ = ["ApiClient"]


class ApiClient:
    """A pool of connections to one server; may be used by many threads at once."""

    def __init__(
        self,
        port: int,
        *,
        authority: Path,
        credentials: tuple[Path, Path] | None = None,
        connections: int = 1,
    ) -> None:
        certificate, key = map(str, credentials) if credentials else (None, None)
        self._pool = urllib3.HTTPSConnectionPool(
            "127.0.0.1",
            port,
            ca_certs=str(authority),
            cert_file=certificate,
            key_file=key,
            maxsize=connections,
            block=True,
            retries=False,
        )

    def request(self, method: str, path: str, body: object = None, *, timeout: float = 30) -> Any:
        """Send `body` as JSON and return the answer decoded (text that is not JSON as it is).

        Raises `RequestError` for a status of 400 or more, `DevClusterError` when there is no answer.
        """
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        try:
            response = self._pool.request(
                method,
                path,
                body=None if body is None else json.dumps(body).encode(),
                headers={"Content-Type": kind, "Accept": "application/json"},
                timeout=timeout,
            )
        except urllib3.exceptions.HTTPError as error:
            raise DevClusterError(
                f"{method} {path}: no answer from port {self._pool.port}: {error}"
            ) from error
        answer = _decode(response.data)
        if response.status >= 400:
            raise RequestError(
                f"{method} {path}: {response.status}: {_fault(answer)}", status=response.status
            )
        return answer

    def lines(self, path: str, *, silence: float) -> Iterator[bytes]:
        """GET `path` and yield the lines of an answer that goes on, such as a watch's, as they come.

        Ends with the answer. Raises as `request` does, also when nothing comes for `silence` seconds.
        """
        try:
            response = self._pool.request("GET", path, timeout=silence, preload_content=False)
            try:
                if response.status >= 400:
                    raise RequestError(
                        f"GET {path}: {response.status}: {_fault(_decode(response.data))}",
                        status=response.status,
                    )
                yield from response
            finally:
                response.close()
                response.release_conn()
        except urllib3.exceptions.HTTPError as error:
            raise DevClusterError(f"GET {path}: no answer from port {self._pool.port}: {error}") from error

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()


def _fault(answer: object) -> str:
    if isinstance(answer, dict):
        return str(answer.get("message"))
    lines = str(answer).splitlines()
    # /readyz?verbose style: what holds it up is marked [-] among all that is well.
    return "; ".join([line for line in lines if line.startswith("[-]")] or lines)


def _decode(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode(errors="replace")
