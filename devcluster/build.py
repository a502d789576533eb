"""Builds the control plane from its Go modules, once for each version, into the user's cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from devcluster.errors import BuildError
from devcluster.gobuild import build_module, clock
from devcluster.toolchain import find_go
from devcluster.version import GO_MODULE, Versions, read_versions

__all__ = ["COMPONENTS", "assets_folder", "cache_folder", "cache_key", "ensure_built", "say_on_stderr"]

COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
"""The programs that the one binary is, by the names it answers to."""

_SOURCES = ("go.mod", "go.sum", "main.go")
_CPU_MINUTES = 18  # measured: 14:46 user + 3:06 system, Go 1.26 on x86-64, nothing compiled before
_PACKAGES = 2_500


def ensure_built(say: Callable[[str], None]) -> Path:
    """Return a folder that holds the programs of `COMPONENTS`, building them first if no build is cached.

    `say` gets the progress of a build, a line each time. Two processes never build at once. Raises `BuildError`.
    """
    target = assets_folder()
    if target.exists():
        return target
    try:
        with _only_builder(cache_folder(), say):
            if not target.exists():
                _build(target, say)
    except OSError as error:
        raise BuildError(
            f"can't build into {cache_folder()}: {error}; set XDG_CACHE_HOME to a folder that can be written"
        ) from error
    return target


def cache_folder() -> Path:
    """Return the folder of this user's builds; it may be deleted at any time that no build is running.

    Raises `BuildError` if the user has no home.
    """
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError as error:  # a user id that no name belongs to, as containers have
        raise BuildError(
            "no folder to build in: this user has no home; set HOME or XDG_CACHE_HOME"
        ) from error
    return Path(base) / "custom-scheduler-devcluster"


def assets_folder() -> Path:
    """Return the folder where the build of the present sources is, or would be."""
    versions = read_versions()
    sources = [(GO_MODULE / name).read_bytes() for name in _SOURCES]
    return cache_folder() / f"{versions.kubernetes}-{cache_key(sources, _flags(versions))}"


def cache_key(sources: list[bytes], flags: list[str]) -> str:
    """Return a name for what a build is made from: sources, flags of `go build`, and the kind of machine."""
    digest = hashlib.sha256()
    for part in [*sources, *(flag.encode() for flag in flags), platform.machine().encode()]:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:16]


def say_on_stderr(line: str) -> None:
    """Print progress where it doesn't mix with a command's answer."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def _only_builder(cache: Path, say: Callable[[str], None]) -> Iterator[None]:
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another process is building the control plane; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _flags(versions: Versions) -> list[str]:
    # Without these the server calls itself v0.0.0-master, and what reads /version goes astray.
    package = "k8s.io/component-base/version"
    major, minor = versions.kubernetes_minor
    stamps = {"gitVersion": versions.kubernetes, "gitMajor": major, "gitMinor": minor}
    ldflags = " ".join(["-s -w", *(f"-X {package}.{name}={value}" for name, value in stamps.items())])
    return ["-trimpath", "-buildvcs=false", "-mod=readonly", f"-ldflags={ldflags}"]


def _build(target: Path, say: Callable[[str], None]) -> None:
    versions = read_versions()
    work = target.parent / "building"
    shutil.rmtree(work, ignore_errors=True)  # left by a build that was killed: the lock says that none runs
    assets, scratch = work / "assets", work / "scratch"
    assets.mkdir(parents=True)
    scratch.mkdir()
    go = find_go(target.parent, versions.go, say)
    cores = len(os.sched_getaffinity(0))
    say(
        f"Building the control plane, Kubernetes {versions.kubernetes}, once for this user: "
        f"about {max(1, round(_CPU_MINUTES / cores))} minutes on {cores} cores, and a download of some 200 MB"
    )
    started = time.monotonic()
    build_module(
        GO_MODULE,
        assets / "control-plane",
        go=go,
        flags=_flags(versions),
        scratch=scratch,
        packages=_PACKAGES,
        say=say,
    )
    for name in COMPONENTS:
        (assets / name).symlink_to("control-plane")
    assets.rename(target)
    shutil.rmtree(work)
    say(f"Built in {clock(time.monotonic() - started)}: {target}")
