"""A virtual environment of its own for a peer in Python, so that none of its packages gets into ours."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from devcluster.build import cache_folder, cache_key
from devcluster.errors import BuildError

__all__ = ["ensure_environment"]


def ensure_environment(requirements: Path, *, say: Callable[[str], None]) -> Path:
    """Return the Python of an environment that holds `requirements`, a file, making it if none is cached.

    It is named after the file's folder; `say` gets a line where it is made. Raises BuildError.
    """
    key = cache_key([requirements.read_bytes()], [sys.version])
    home = cache_folder() / f"{requirements.parent.name}-{key}"
    python = home / "bin" / "python"
    ready = home / ".ready"
    if ready.exists():
        return python
    say(f"Installing {requirements} into {home}")
    shutil.rmtree(home, ignore_errors=True)  # left by an installation that was ended
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    for command in ([sys.executable, "-m", "venv", str(home)], [*pip, "--requirement", str(requirements)]):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            fault = (result.stderr.strip() or result.stdout.strip()).splitlines()[-1:]
            raise BuildError(f"could not install {requirements}: {''.join(fault) or result.returncode}")
    ready.touch()
    return python
