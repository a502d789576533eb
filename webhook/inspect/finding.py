"""What a look at an installation comes to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from webhook.kube.transport import KubeClient

__all__ = ["Check", "Finding", "Level"]

Level = Literal["ok", "warn", "fail"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at. `warn`: it works, and something may be better; `fail`: it doesn't work."""

    level: Level
    subject: str
    text: str
    fix: str = ""


# What looks at one piece of the installation in a namespace; raises ClusterError where it can't.
Check = Callable[[KubeClient, str], Iterable[Finding]]
