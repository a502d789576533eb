"""A file that should hold PEM, written by somebody else."""

from __future__ import annotations

from pathlib import Path

from certs.errors import UnreadableFile

__all__ = ["read_pem_file"]

# No Secret or ConfigMap can be larger: k8s.io/api/core/v1 MaxSecretSize.
_LARGEST = 1024 * 1024


def read_pem_file(path: Path) -> bytes:
    """Return what the file holds, which may be anything, but not more than a Secret can; raises UnreadableFile."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise UnreadableFile(
            f"{path} can't be read ({error.strerror}): put the PEM file there and let this user read it"
        ) from None
    if len(content) > _LARGEST:
        raise UnreadableFile(f"{path} is larger than 1 MiB: put the PEM file there, and nothing else")
    return content
