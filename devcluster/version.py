"""Which Kubernetes this is: go.mod says it, and nothing else does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from devcluster.errors import BuildError

__all__ = ["GO_MODULE", "Versions", "parse_versions", "read_versions"]

GO_MODULE = Path(__file__).parent
"""The folder of the Go module that links the control plane."""


@dataclass(frozen=True, kw_only=True)
class Versions:
    """What go.mod asks for: `kubernetes` as in a tag ("v1.37.2"), `go` as in its `go` line ("1.26.0")."""

    kubernetes: str
    go: str

    @property
    def kubernetes_minor(self) -> tuple[str, str]:
        """The major and minor version, as `kubectl version` reports them: ("1", "37")."""
        major, minor, _ = self.kubernetes.removeprefix("v").split(".", 2)
        return major, minor


def parse_versions(go_mod: str) -> Versions:
    """Read the versions from the text of a go.mod; raises `BuildError` if one is not there."""
    return Versions(
        kubernetes=_find(
            r"^\s*(?:require\s+)?k8s\.io/kubernetes\s+(v\d+\.\d+\.\d+\S*)", go_mod, "k8s.io/kubernetes"
        ),
        go=_find(r"^go\s+(\d+\.\d+\S*)", go_mod, "go"),
    )


def read_versions() -> Versions:
    """Read the versions from the devcluster's own go.mod."""
    return parse_versions((GO_MODULE / "go.mod").read_text())


def _find(pattern: str, text: str, what: str) -> str:
    if match := re.search(pattern, text, re.MULTILINE):
        return match[1]
    raise BuildError(f"{GO_MODULE / 'go.mod'} has no line with the version of {what}")
