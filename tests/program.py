"""Our command as an admin types it: run to its end, with no settings but those in its arguments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from devcluster.cluster import DevCluster

__all__ = ["certs_rotate", "certs_show", "custom_scheduler", "signer"]


def custom_scheduler(*arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run `custom-scheduler` with these arguments, and return what it printed and its exit code."""
    return subprocess.run(
        [sys.executable, "-m", "webhook", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"HOME": "/nowhere", "PATH": os.environ["PATH"]},
    )


def certs_show(cluster: DevCluster) -> dict[str, Any]:
    """Return what `certs show` says of a cluster, decoded."""
    shown: dict[str, Any] = json.loads(_certs(cluster, "show", "-o", "json"))
    return shown


def certs_rotate(cluster: DevCluster) -> str:
    """Begin a rotation of the CA, and return what `certs rotate` says."""
    return _certs(cluster, "rotate")


def _certs(cluster: DevCluster, *arguments: str) -> str:
    ended = custom_scheduler("certs", *arguments, "--kubeconfig", cluster.kubeconfig)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def signer(shown: dict[str, Any]) -> str:
    """Return the fingerprint of the CA that signs, of what `certs show` says."""
    (one,) = [each for each in shown["authorities"] if each["role"] == "signs"]
    return str(one["fingerprint"])
