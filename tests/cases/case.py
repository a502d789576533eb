"""What a case is, and what came of one: the same in process, over TLS and on a real API server."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

# The namespaces of the cases, and their labels below custom-scheduler.io/.
NAMESPACES: dict[str, dict[str, str]] = {
    "cases-free": {},
    "cases-deny": {"enforce": "deny"},
    "cases-warn": {"enforce": "warn"},
    "cases-opted-in": {"opt-in": "true"},
    "cases-opted-in-deny": {"opt-in": "true", "enforce": "deny"},
    "cases-exempt": {"opt-in": "true", "enforce": "deny"},
    "kube-system": {},
}

_DEFAULT_TOLERATIONS = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}


def namespace_labels(namespace: str) -> dict[str, str]:
    """The labels of a namespace, with the one that the API server gives each."""
    ours = {f"custom-scheduler.io/{key}": value for key, value in NAMESPACES[namespace].items()}
    return {"kubernetes.io/metadata.name": namespace, **ours}


@dataclass(frozen=True)
class User:
    """Who sends the request."""

    name: str = "alice"
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Placement:
    """The part of a pod that steering may change."""

    scheduler: str = "default-scheduler"
    affinity: Json | None = None
    tolerations: tuple[Json, ...] = ()
    placed_by: str | None = None

    @classmethod
    def of(cls, pod: Json) -> Placement:
        """That of a pod, without the tolerations that the API server gives each."""
        spec = pod["spec"]
        return cls(
            scheduler=spec["schedulerName"],
            affinity=spec.get("affinity"),
            tolerations=tuple(
                each for each in spec.get("tolerations") or () if each.get("key") not in _DEFAULT_TOLERATIONS
            ),
            placed_by=(pod["metadata"].get("annotations") or {}).get("custom-scheduler.io/placed-by"),
        )


@dataclass(frozen=True, kw_only=True)
class Case:
    """One request and what is to come of it.

    `old` makes it an UPDATE. `terminating` objects are being deleted. `denied` is how the message begins; `warned`
    how the warnings do. `placed` is the pod's placement, where it isn't as the request says.
    Without `mutators`, nothing steers the pod: as when the mutating webhook was down.
    """

    name: str
    object: Json
    old: Json | None = None
    policy: str = "default"
    namespace: str = "cases-deny"
    user: User = field(default_factory=User)
    terminating: bool = False
    mutators: bool = True
    denied: str | None = None
    warned: tuple[str, ...] = ()
    placed: Placement | None = None

    @property
    def operation(self) -> str:
        """The operation of the request."""
        return "UPDATE" if self.old else "CREATE"

    @property
    def kind(self) -> str:
        """The kind of the object."""
        kind: str = self.object["kind"]
        return kind

    def named(self, obj: Json) -> Json:
        """An object of the case with its namespace, and a name where it has none."""
        metadata = {**obj["metadata"], "namespace": self.namespace}
        if "generateName" not in metadata:
            metadata["name"] = re.sub(r"[^a-z0-9]+", "-", self.name.lower())[:50].strip("-")
        return {**obj, "metadata": metadata}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the user gets: a denial, or the object; and the warnings."""

    denied: str | None
    warnings: tuple[str, ...]
    object: Json | None


def assert_expected(case: Case, outcome: Outcome) -> None:
    """The outcome is what the table says; policies join warnings, and come in no order."""
    if case.denied is None:
        assert outcome.denied is None
        assert outcome.object is not None
        if case.kind == "Pod":
            assert Placement.of(outcome.object) == (case.placed or Placement.of(case.object))
    else:
        assert outcome.denied is not None
        assert outcome.denied.startswith(case.denied)
    assert all(any(warning in told for told in outcome.warnings) for warning in case.warned)
    assert bool(outcome.warnings) == bool(case.warned)
