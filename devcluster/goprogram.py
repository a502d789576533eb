"""Small programs in Go that tests and benchmarks use, each built once for each version of its sources."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from devcluster.build import cache_folder, cache_key
from devcluster.errors import BuildError
from devcluster.gobuild import build_module, clock
from devcluster.toolchain import find_go
from devcluster.version import read_versions

__all__ = ["ensure_program"]

_FLAGS = ("-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags=-s -w")


def ensure_program(module: Path, *, packages: int, say: Callable[[str], None]) -> Path:
    """Return the program of the Go module in the folder `module`, building it first if no build is cached.

    `packages` is about how many there are to compile; `say` gets the progress of a build. Raises `BuildError`.
    """
    target = _program(module)
    if target.exists():
        return target
    cache = target.parent
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{module.name}-", dir=cache) as scratch:
            go = find_go(cache, read_versions().go, say)
            say(f"Building {module}, once for this user")
            started = time.monotonic()
            unfinished = Path(scratch) / "program"
            build_module(
                module, unfinished, go=go, flags=_FLAGS, scratch=Path(scratch), packages=packages, say=say
            )
            unfinished.replace(target)  # whole at once: another process may be building it too
    except OSError as error:
        raise BuildError(
            f"can't build into {cache}: {error}; set XDG_CACHE_HOME to a folder that can be written"
        ) from error
    say(f"Built in {clock(time.monotonic() - started)}: {target}")
    return target


def _program(module: Path) -> Path:
    sources = sorted([*module.glob("*.go"), *module.glob("go.*")])
    return (
        cache_folder() / f"{module.name}-{cache_key([path.read_bytes() for path in sources], list(_FLAGS))}"
    )
