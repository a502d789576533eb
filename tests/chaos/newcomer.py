"""An API server that has no connection open yet: each call of it begins with a handshake.

The real one reuses its connections, so that a certificate that changed is met by few of its calls.
"""

from __future__ import annotations

import random
import socket
import ssl
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

__all__ = ["Newcomer"]

# k8s.io/apiserver pkg/util/webhook/client.go: what it asks for, whichever address it calls
_HOST = "custom-scheduler.custom-scheduler.svc"
_PORT = 8443
_EVERY_SECONDS = 0.05
_TIMEOUT_SECONDS = 2.0


class Newcomer:
    """Shakes hands with one endpoint after another, trusting caBundle alone, while its context is entered."""

    def __init__(self, *, endpoints: Callable[[], list[str]], bundle: Callable[[], bytes]) -> None:
        self.handshakes = 0
        self.faults: list[str] = []
        self.serials: dict[str, set[int]] = {}
        """The serial numbers of the certificates that each address showed."""
        self._endpoints = endpoints
        self._bundle = bundle
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="newcomer")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        draw = random.Random(1)
        while not self._stopping.wait(_EVERY_SECONDS):
            try:
                self._shake_hands(draw.choice(self._endpoints()))
            except Exception as error:  # noqa: BLE001 (whatever it is, a call would have failed)
                self.faults.append(f"{type(error).__name__}: {error}")

    def _shake_hands(self, address: str) -> None:
        context = ssl.create_default_context(cadata=self._bundle().decode())
        with (
            socket.create_connection((address, _PORT), _TIMEOUT_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=_HOST) as secure,
        ):
            certificate = secure.getpeercert()
        assert certificate is not None
        self.handshakes += 1
        self.serials.setdefault(address, set()).add(int(str(certificate["serialNumber"]), 16))
