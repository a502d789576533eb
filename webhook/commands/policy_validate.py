"""`custom-scheduler policy validate`: is this a policy that can be served?"""

from __future__ import annotations

from pathlib import Path

from webhook.policy.parse import load_policy
from webhook.settings import DEFAULT_NAMESPACE

__all__ = ["run"]


def run(file: Path) -> str:
    """Return the line that says that `file` is a good policy; raises PolicyError where it is not."""
    policy = load_policy(file, own_namespace=DEFAULT_NAMESPACE)
    return f"{file}: PlacementPolicy {policy.name} is valid (generation {policy.generation:012x})"
