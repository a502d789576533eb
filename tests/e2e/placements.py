"""What became of all pods of a cluster, and what the API server noted of how."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from devcluster.cluster import DevCluster
from tests.invariants import Binding, Violation, bindings_in_audit, violations
from tests.placement_rules import Json

__all__ = ["audit_flags", "bindings", "items", "wrong_placements"]

_AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Request, verbs: [create], resources: [{group: "", resources: [pods/binding]}]}
- {level: None}
"""


def audit_flags(audit_log: Path) -> list[str]:
    """Return the API server's flags to note there each binding that it is asked for."""
    policy = audit_log.with_name("policy.yaml")
    policy.write_text(_AUDIT_POLICY)
    return [f"--audit-policy-file={policy}", f"--audit-log-path={audit_log}"]


def bindings(audit_log: Path) -> list[Binding]:
    """Return the bindings that it has carried out so far."""
    # It may be at the last line just now.
    whole = audit_log.read_text().rpartition("\n")[0]
    return bindings_in_audit(whole.splitlines())


def items(cluster: DevCluster, path: str) -> list[Json]:
    """Return the objects of a list."""
    found: list[Json] = cluster.request("GET", path)["items"]
    return found


def wrong_placements(cluster: DevCluster, *, bindings: Sequence[Binding] = ()) -> list[Violation]:
    """Return all that is wrong with where pods are now, judged by the nodes as they are now."""
    return violations(
        items(cluster, "/api/v1/nodes"),
        items(cluster, "/api/v1/pods"),
        namespaces=items(cluster, "/api/v1/namespaces"),
        bindings=bindings,
    )
