"""gunicorn's configuration, from our options alone: no file, command line or environment adds to it."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import gunicorn.config

from webhook.serving.logger import QuietLogger
from webhook.serving.options import ServingOptions

__all__ = ["Config"]

# The API server keeps idle connections for 90 s (k8s.io/apimachinery/pkg/util/net/http.go). It has to be the one
# that closes: a POST that meets a closed connection is not sent again, and the pod is refused.
KEEPALIVE_SECONDS = 120

# A worker that shows no sign of life for so long is killed and replaced. A service may wait 30 s for its CA
# before the worker's main loop, which gives the signs, begins.
_HANG_SECONDS = 60

_MAX_CONNECTIONS = 1000


class Config(gunicorn.config.Config):
    """gunicorn's Config with TLS always on; the certificate comes from the ssl_context hook, not from files."""

    is_ssl = True

    def __init__(self, options: ServingOptions) -> None:
        super().__init__()
        self.request_deadline_seconds = options.request_deadline_seconds
        for name, value in _settings(options).items():
            self.set(name, value)

    # gunicorn asks for some twenty settings in each request, and each time looks for them in two places.
    def set(self, name: str, value: object) -> None:
        """Set a value."""
        self.__dict__.pop(name, None)
        super().set(name, value)

    def __getattr__(self, name: str) -> Any:
        value = super().__getattr__(name)
        self.__dict__[name] = value
        return value


def _settings(options: ServingOptions) -> dict[str, object]:
    memory = Path("/dev/shm")  # noqa: S108 (gunicorn makes its heartbeat file with mkstemp and unlinks it at once)
    return {
        "workers": options.workers,
        "threads": options.threads,
        "worker_connections": _connections(),
        "keepalive": KEEPALIVE_SECONDS,
        "timeout": _HANG_SECONDS,
        "graceful_timeout": options.graceful_seconds,
        # A heartbeat on a disk can block the worker, and the image's file system is read-only.
        "worker_tmp_dir": str(memory) if memory.is_dir() else None,
        # A body that is cut off must be an error to the application, not a short body.
        "suppress_ragged_eofs": False,
        "control_socket_disable": True,
        "logger_class": QuietLogger,
        "proc_name": "custom-scheduler",
        # By default gunicorn believes some headers of local clients. It asks in each request whether the client is one
        # of these, unless all are; so all are, and none of their headers is believed.
        "forwarded_allow_ips": "*",
        "secure_scheme_headers": {},
        "forwarder_headers": "",
    }


def _connections() -> int:
    """Return how many connections a worker may hold, leaving half the file descriptors to everything else."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MAX_CONNECTIONS if limit == resource.RLIM_INFINITY else min(_MAX_CONNECTIONS, limit // 2)
