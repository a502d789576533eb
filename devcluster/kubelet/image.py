"""What stands in for a container image: a few folders of this machine, a command and some variables."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Image", "checkout_image"]

# What programs need of a machine. /etc, /home, /run, /tmp, /var and the like are not in it, as in an image of our own.
_SYSTEM = ("bin", "lib", "lib32", "lib64", "libx32", "sbin", "usr")
_CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Image:
    """The root of a container and what runs in it where the pod doesn't say."""

    folders: tuple[Path, ...]
    """Folders of this machine that are seen at the same place in the container; none is below another."""
    links: Mapping[Path, str] = field(default_factory=dict)
    entrypoint: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


def checkout_image(variables: Mapping[str, str] | None = None) -> Image:
    """Return our image as the Dockerfile makes it, but with this checkout and this interpreter.

    `variables` come beside those that the Dockerfile sets.
    """
    system = [Path("/", name) for name in _SYSTEM]
    folders = [each for each in system if each.is_dir() and not each.is_symlink()]
    # The environment's interpreter is a link to the one it was made with.
    folders += [_CHECKOUT, Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()]
    return Image(
        folders=_topmost(folders),
        links={each: str(each.readlink()) for each in system if each.is_symlink()},
        entrypoint=(sys.executable, "-m", "webhook"),
        variables={
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": str(_CHECKOUT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "CUSTOM_SCHEDULER_SERVE_LOG_FORMAT": "json",
            "CUSTOM_SCHEDULER_BINDER_LOG_FORMAT": "json",
            "CUSTOM_SCHEDULER_EXTENDER_LOG_FORMAT": "json",
            **(variables or {}),
        },
    )


def _topmost(folders: Iterable[Path]) -> tuple[Path, ...]:
    kept: list[Path] = []
    for folder in sorted(set(folders), key=lambda each: len(each.parts)):
        if not any(folder.is_relative_to(above) for above in kept):
            kept.append(folder)
    return tuple(kept)
