"""`custom-scheduler policy export`: the policy for an API server to enforce without us."""

from __future__ import annotations

from pathlib import Path

from webhook.errors import PolicyError
from webhook.policy.cel.export import export_cel
from webhook.policy.parse import load_policy

__all__ = ["run"]


def run(file: Path, *, namespace: str) -> str:
    """Return the admission policies and bindings as YAML; raises PolicyError where `file` can't be exported."""
    policy = load_policy(file, own_namespace=namespace)
    try:
        return export_cel(policy)
    except PolicyError as error:
        raise PolicyError(f"{file}: {error}") from None
