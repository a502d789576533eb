"""A program in namespaces of its own: network, mounts and processes, all gone with it.

For an ordinary user a user namespace makes that possible, where the machine allows it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from devcluster.errors import SandboxError
from devcluster.tether import tethered

__all__ = ["HOST_ADDRESS", "SERVICE_ADDRESS", "check_sandbox", "enter_sandbox", "sandboxed"]

HOST_ADDRESS = "10.42.0.1"
"""The address of all nodes, and the way out of every pod."""

SERVICE_ADDRESS = "10.96.0.1"
"""The first of the service range: where pods find the API server, and one of the names in its certificate."""

_PROGRAMS = ("unshare", "ip")
_PRIVATE = "/run"


def sandboxed(command: Sequence[str | Path]) -> list[str]:
    """Return a command that runs `command` in namespaces of its own, and kills all in there when we end.

    "We" is the thread that starts it, as with `tethered`. In there, `enter_sandbox` has to come first.
    """
    return tethered([*_unshare(), "--", *command])


def check_sandbox() -> None:
    """Raise `SandboxError` where this machine doesn't let us make one."""
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        raise SandboxError(
            f"no program {' or '.join(missing)}: install util-linux and iproute2 to run pods on this machine"
        )
    # A network device too: some machines give namespaces, but nothing to put into them.
    tried = subprocess.run(
        [*_unshare(), "--", "ip", "link", "add", "name", "tried", "type", "veth"],
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode:
        fault = (tried.stderr.strip() or f"exit code {tried.returncode}").splitlines()[-1]
        raise SandboxError(
            f"no namespaces to run pods in: {fault}; be root (in a container: with CAP_SYS_ADMIN and CAP_NET_ADMIN), "
            "or let users make user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)"
        )


def enter_sandbox() -> Path:
    """Give the sandbox that this program runs in its addresses and files; return a folder that goes with it."""
    _mount_memory(Path(_PRIVATE))
    subprocess.run(
        ["ip", "-batch", "-"],
        input=f"link set lo up\naddress add {HOST_ADDRESS}/32 dev lo\naddress add {SERVICE_ADDRESS}/32 dev lo\n",
        text=True,
        check=True,
    )
    folder = Path(_PRIVATE, "sandbox")
    folder.mkdir()
    return folder


def _unshare() -> list[str]:
    ordinary = [] if os.geteuid() == 0 else ["--map-root-user"]
    return [
        *("unshare", *ordinary, "--net", "--mount", "--pid", "--ipc"),
        *("--fork", "--kill-child", "--mount-proc"),
    ]


def _mount_memory(target: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", os.fsencode(target), b"tmpfs", 0, b"mode=755"):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(target))
