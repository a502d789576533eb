"""What the Python process and its supervisor say to each other: one JSON object a line, each request one reply.

The end of the request stream is the request to stop everything; there is no other one, so that stopping and
being killed are the same path.
"""

from __future__ import annotations

import msgspec

__all__ = [
    "Done",
    "Failed",
    "Options",
    "Reply",
    "Request",
    "Start",
    "StartApiserver",
    "Started",
    "StopApiserver",
]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How the control plane is started."""

    scheduler: bool
    controller_manager: bool
    apiserver_flags: tuple[str, ...]
    controller_manager_flags: tuple[str, ...] = ()


class Start(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Start the control plane with the programs in the folder `assets`; answered by `Started`."""

    assets: str
    options: Options


class StopApiserver(msgspec.Struct, frozen=True, tag=True):
    """Stop kube-apiserver; answered by `Done`."""


class StartApiserver(msgspec.Struct, frozen=True, tag=True):
    """Start kube-apiserver again; answered by `Done` when it is ready."""


class Started(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """All is ready: `folder` holds the files, the API server listens on `port` of 127.0.0.1."""

    folder: str
    port: int


class Done(msgspec.Struct, frozen=True, tag=True):
    """The request is carried out."""


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The control plane can't go on, for the reason in `message`; everything is being stopped.

    Comes as a reply, or unasked when a component ends by itself.
    """

    message: str


Request = Start | StopApiserver | StartApiserver
Reply = Started | Done | Failed
