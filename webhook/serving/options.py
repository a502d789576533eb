"""What the server is told: addresses, sizes and limits of time."""

from __future__ import annotations

import msgspec

__all__ = ["ServingOptions"]


class ServingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Addresses, processes and threads, and how long each thing may take.

    The time from SIGTERM to the end is at most `drain_seconds` + `graceful_seconds`, and about a second: a
    pod's terminationGracePeriodSeconds has to be longer than that.
    """

    host: str = "0.0.0.0"  # noqa: S104 (the API server calls the pod's address)
    port: int = 8443
    """Port of the TLS socket; 0 takes a free one, and so does `ops_port`."""
    ops_host: str = "0.0.0.0"  # noqa: S104 (the kubelet probes the pod's address)
    ops_port: int = 8080
    workers: int = 1
    threads: int = 32
    """Requests that one worker works on at once. Idle connections and half-sent heads need no thread."""
    drain_seconds: float = 10.0
    """How long requests are still answered after SIGTERM, while readiness fails."""
    graceful_seconds: int = 15
    """How long requests under way, and then the service's `stop`, may take after that."""
    request_deadline_seconds: float = 10.0
    """How long a client may take for its handshake, and then for each request until the answer is sent.

    Longer than the longest timeoutSeconds with which the webhook is registered, as the API server's own
    deadline has to come first.
    """
