"""Contexts made fit for HTTP/1.1, each once, before its first handshake."""

from __future__ import annotations

import ssl
import threading

__all__ = ["HttpContexts"]

# kube-apiserver offers nothing else to webhooks (k8s.io/apiserver/pkg/util/webhook/client.go), and in gunicorn's
# thread worker an HTTP/2 connection would hold a thread for as long as it is open.
_PROTOCOLS = ["http/1.1"]


class HttpContexts:
    """Lets through whichever context the service has now, with ALPN set.

    OpenSSL reads it during a handshake without a lock, so it may be set only before the first one. That is why
    this remembers the contexts it has set up; it holds two of them, as a swap can be undone.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready: tuple[ssl.SSLContext, ...] = ()

    def prepared(self, context: ssl.SSLContext) -> ssl.SSLContext:
        """Return the same context, set up if it is new."""
        if context in self._ready:
            return context
        with self._lock:
            if context not in self._ready:
                context.set_alpn_protocols(_PROTOCOLS)
                self._ready = (context, *self._ready[:1])
        return context
