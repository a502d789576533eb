"""Authenticated HTTP to one API server: bytes in, bytes out, nothing retried, every wait bounded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from urllib.parse import urlencode

import msgspec
from urllib3 import BaseHTTPResponse, HTTPSConnectionPool, Timeout
from urllib3.exceptions import HTTPError

from webhook.errors import ApiError, Unreachable
from webhook.kube.clock import ServerClock
from webhook.kube.connection import AbortableConnection, OpenConnections, explain
from webhook.kube.meta import ListMeta, Status

__all__ = ["CONNECT_SECONDS", "REQUEST_SECONDS", "KubeClient", "Query", "ThrottledError"]

CONNECT_SECONDS = 3.0
REQUEST_SECONDS = 10.0
LIST_SECONDS = 30.0
_CHUNK = 1 << 16

Query = Sequence[tuple[str, str]]


class ThrottledError(ApiError):
    """The API server asks for less (429), or for a pause (any error with Retry-After).

    `retry_after` is in seconds, None where the answer doesn't say.
    """

    def __init__(self, message: str, *, status: int, reason: str, retry_after: float | None) -> None:
        super().__init__(message, status=status, reason=reason)
        self.retry_after = retry_after


class KubeClient:
    """Requests to one API server, from any thread.

    `new_pool` makes a pool that holds its address and TLS trust, `authorization` gives each request's
    Authorization header (None: no such header), `base_path` is what the server's URL has after its host.
    """

    def __init__(
        self,
        new_pool: Callable[[], HTTPSConnectionPool],
        *,
        authorization: Callable[[], str | None],
        user_agent: str,
        base_path: str = "",
    ) -> None:
        self._opened = OpenConnections()
        self._new_pool = new_pool
        self._pool = new_pool()
        self._pool.ConnectionCls = AbortableConnection
        self._pool.conn_kw["opened"] = self._opened
        self._authorization = authorization
        self._user_agent = user_agent
        self._base_path = base_path.rstrip("/")
        self.host = f"{self._pool.host}:{self._pool.port or 443}"
        self.server_clock = ServerClock()

    def now(self) -> datetime:
        """Return the API server's time, by which its clients judge certificates; this machine's before it told one."""
        return self.server_clock.now() or datetime.now(UTC)

    def apart(self) -> KubeClient:
        """Return a client for the same server with connections of its own: closing it ends only those."""
        return KubeClient(
            self._new_pool,
            authorization=self._authorization,
            user_agent=self._user_agent,
            base_path=self._base_path,
        )

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float = REQUEST_SECONDS,
    ) -> bytes:
        """Return the body of the API server's 2xx answer.

        `timeout` (seconds) bounds the wait for the answer and, apart, for all of its body; connecting has
        3 s of its own. Raises ApiError for any other answer (ThrottledError where it asks for a pause) and
        Unreachable for none, in which case the request may or may not have been carried out.
        """
        response = self._send(method, path, query, body, content_type, timeout)
        raw = self._body(response, timeout)
        if not 200 <= response.status < 300:
            raise self._refusal(response, raw, method, path)
        return raw

    def pages(
        self, path: str, *, query: Query = (), limit: int = 500, timeout: float = LIST_SECONDS
    ) -> Iterator[bytes]:
        """Yield a list page by page, `limit` items each (0: all at once), as one consistent snapshot.

        Raises as `request` does; ApiError 410 after the first page means that the snapshot is gone and the
        list has to begin again.
        """
        token = ""
        while True:
            asked = [*query, ("limit", str(limit))] if limit else [*query]
            page = self.request(
                "GET", path, query=[*asked, ("continue", token)] if token else asked, timeout=timeout
            )
            try:
                token = msgspec.json.decode(page, type=_Page).metadata.continue_
            except msgspec.DecodeError as error:
                raise Unreachable(
                    f"API server {self.host} answered GET {path} with what is no list ({error}); "
                    "check that this address is an API server's"
                ) from error
            yield page
            if not token:
                return

    @contextmanager
    def stream(self, path: str, *, query: Query = (), read_timeout: float) -> Iterator[Iterator[bytes]]:
        """Open a streamed answer and give its lines; a last line without its end is dropped.

        Raises as `request` does; the lines raise Unreachable when the stream breaks. The head of the answer has
        `REQUEST_SECONDS`; after it, `read_timeout` bounds each silence.
        """
        response = self._send("GET", path, query, None, "application/json", REQUEST_SECONDS)
        try:
            if response.status != 200:
                raise self._refusal(response, self._body(response, REQUEST_SECONDS), "GET", path)
            if isinstance(response.connection, AbortableConnection):
                response.connection.allow_silence(read_timeout)
            yield self._lines(response)
        finally:
            # A stream that is left half read can't carry another request.
            response.close()
            response.release_conn()

    def close(self) -> None:
        """End what is under way and refuse what comes later: Unreachable, for both."""
        self._opened.close()
        self._pool.close()

    def _send(
        self, method: str, path: str, query: Query, body: bytes | None, content_type: str, timeout: float
    ) -> BaseHTTPResponse:
        if self._opened.closed:
            raise Unreachable(f"API server {self.host}: this process is stopping and asks nothing more")
        headers = {"Accept": "application/json", "User-Agent": self._user_agent}
        if body is not None:
            headers["Content-Type"] = content_type
        if (credentials := self._authorization()) is not None:
            headers["Authorization"] = credentials
        url = f"{self._base_path}{path}" + (f"?{urlencode(query)}" if query else "")
        try:
            response = self._pool.urlopen(
                method,
                url,
                body=body,
                headers=headers,
                retries=False,
                redirect=False,
                preload_content=False,
                timeout=Timeout(connect=CONNECT_SECONDS, read=timeout),
            )
        except (HTTPError, OSError) as error:
            raise self._unreachable(error) from error
        self.server_clock.hear(response.headers.get("Date"))
        return response

    def _lines(self, response: BaseHTTPResponse) -> Iterator[bytes]:
        rest = b""
        while True:
            try:
                chunk = response.read1(_CHUNK)
            except (HTTPError, OSError) as error:
                raise self._unreachable(error) from error
            if not chunk:
                return
            *complete, rest = (rest + chunk).split(b"\n")
            yield from complete

    def _body(self, response: BaseHTTPResponse, seconds: float) -> bytes:
        """Read the whole body and give the connection back; a server that drips is given up in time."""
        deadline = time.monotonic() + seconds
        chunks: list[bytes] = []
        try:
            while chunk := response.read1(_CHUNK):
                chunks.append(chunk)
                if time.monotonic() > deadline:
                    raise TimeoutError
        except (HTTPError, OSError) as error:
            response.close()
            raise self._unreachable(error) from error
        finally:
            response.release_conn()
        return b"".join(chunks)

    def _refusal(self, response: BaseHTTPResponse, raw: bytes, method: str, path: str) -> ApiError:
        try:
            status = msgspec.json.decode(raw, type=Status)
        except msgspec.DecodeError:
            status = Status(message=raw[:200].decode("utf-8", "replace"))
        said = " ".join(status.message.split()) or status.reason or "no reason given"
        message = f"API server {self.host} answered {response.status} to {method} {path}: {said}"
        if step := _ENDING if "NamespaceTerminating" in status.causes else _NEXT_STEP.get(response.status):
            message += f"; {step}"
        retry_after = response.headers.get("Retry-After")
        if response.status == 429 or retry_after is not None:
            return ThrottledError(
                message, status=response.status, reason=status.reason, retry_after=_seconds(retry_after)
            )
        return ApiError(message, status=response.status, reason=status.reason, causes=status.causes)

    def _unreachable(self, error: Exception) -> Unreachable:
        return Unreachable(f"API server {self.host}: {explain(error)}")


class _Page(msgspec.Struct, frozen=True, gc=False):
    metadata: ListMeta = ListMeta()


_NEXT_STEP = {
    401: "check that the credentials belong to this cluster and have not expired",
    403: "grant it to this user or ServiceAccount with RBAC",
}
_ENDING = "wait until the namespace is gone and create it anew, or give another one"


def _seconds(retry_after: str | None) -> float | None:
    """Read the header's number of seconds; the API server never sends its other form, a date."""
    return float(retry_after) if retry_after is not None and retry_after.isdecimal() else None
