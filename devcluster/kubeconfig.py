"""Kubeconfig files that carry all they need, so that each can be handed on alone."""

from __future__ import annotations

import base64
from pathlib import Path

import yaml

from devcluster.pki import KeyPair

__all__ = ["User", "certificate_user", "token_user", "write_kubeconfig"]

User = dict[str, str]
"""The credentials part of a kubeconfig."""


def certificate_user(pair: KeyPair) -> User:
    """Return credentials by client certificate."""
    return {"client-certificate-data": _base64(pair.certificate), "client-key-data": _base64(pair.key)}


def token_user(token: str) -> User:
    """Return credentials by bearer token."""
    return {"token": token}


def write_kubeconfig(path: Path, *, url: str, authority: bytes, name: str, user: User) -> Path:
    """Write a kubeconfig, readable by its owner alone, whose one context is user `name` at `url`; return `path`.

    `authority` is the PEM certificate that the server's certificate is verified with.
    """
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "devcluster",
                "cluster": {"server": url, "certificate-authority-data": _base64(authority)},
            }
        ],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": "devcluster", "context": {"cluster": "devcluster", "user": name}}],
        "current-context": "devcluster",
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
