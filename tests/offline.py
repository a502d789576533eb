"""`serve --offline`: the whole program over TLS, with a certificate of its own and no cluster."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Self

import trustme
import urllib3

from devcluster.ops import ask_ops
from devcluster.ports import free_port

__all__ = ["OfflineServer"]


class OfflineServer:
    """Runs for the length of a `with` block, with `folder` for its files; it may still be starting at first."""

    def __init__(self, folder: Path, policy: Path, *options: str) -> None:
        pair = folder / "pair.pem"
        authority = trustme.CA()
        authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(str(pair))
        self._context = ssl.create_default_context()
        authority.configure_trust(self._context)
        self._port, self._ops_port = free_port(), free_port()
        self._command = [
            *(sys.executable, "-m", "webhook", "serve", "--offline", "--policy", str(policy)),
            *("--host", "127.0.0.1", "--port", str(self._port)),
            *("--ops-host", "127.0.0.1", "--ops-port", str(self._ops_port)),
            *("--tls-cert", str(pair), "--tls-key", str(pair), "--drain-seconds", "0"),
            *options,
        ]
        self._environment = {"HOME": str(folder), "PATH": os.environ["PATH"], "TMPDIR": str(folder)}

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL, env=self._environment)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(30)

    def pool(self) -> urllib3.HTTPSConnectionPool:
        """Return a pool of connections that trust its certificate."""
        return urllib3.HTTPSConnectionPool("localhost", self._port, ssl_context=self._context, timeout=10)

    def ops(self, path: str) -> tuple[int, str]:
        """Return status and body that the ops port gives for `path`; status 0 where nobody answers."""
        return ask_ops(self._ops_port, path)
