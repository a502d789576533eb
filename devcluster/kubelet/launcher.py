"""Becomes the first process of a container: run as a program of its own, with the plan as JSON in its argument.

Alone in its file, and with nothing imported that takes time, as each start of a container starts an interpreter.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

# linux/sched.h, linux/mount.h, linux/prctl.h
_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
_CLONE_NEWPID, _CLONE_NEWNET = 0x20000000, 0x40000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38

_libc = ctypes.CDLL(None, use_errno=True)


def main(plan: dict[str, Any]) -> int:
    """Start the container's process, pass SIGTERM on to it, and return its exit code once it has ended."""
    with Path(plan["namespace"]).open() as namespace:
        _check(_libc.setns(namespace.fileno(), _CLONE_NEWNET))
    _check(_libc.unshare(_CLONE_NEWNS | _CLONE_NEWUTS | _CLONE_NEWIPC | _CLONE_NEWPID))
    child = os.fork()
    if child == 0:
        _become(plan)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code  # as a shell tells of a signal, and so a container runtime


def _become(plan: dict[str, Any]) -> None:
    socket.sethostname(plan["hostname"])
    root = plan["root"]
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    _mount("tmpfs", root, "tmpfs", 0, "mode=755")
    for place, target in plan["links"].items():
        Path(root + place).symlink_to(target)
    for source, place in [*plan["binds"], ("/dev", "/dev")]:
        Path(root + place).mkdir(parents=True, exist_ok=True)
        _mount(source, root + place, None, _MS_BIND | _MS_REC)
    Path(root + "/proc").mkdir()
    _mount("proc", root + "/proc", "proc", 0)
    if plan["read_only"]:
        _mount(None, root, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY)
    os.chroot(root)
    os.chdir("/")
    if plan["user"] is not None:
        _become_user(plan["user"], plan["group"])
    # After the change of user, which would clear it.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    os.execvpe(plan["argv"][0], plan["argv"], plan["environment"])  # noqa: S606 (no shell is the point)


def _become_user(user: int, group: int) -> None:
    try:
        os.setgroups([])
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)
    except OSError as error:
        # In an ordinary user's own namespace there is no other user, and setgroups is not allowed.
        if error.errno not in (errno.EINVAL, errno.EPERM):
            raise


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    text = [None if each is None else os.fsencode(each) for each in (source, target, kind, data)]
    _check(_libc.mount(text[0], text[1], text[2], flags, text[3]), target)


def _check(result: int, what: str = "") -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
