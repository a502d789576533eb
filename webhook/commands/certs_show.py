"""`custom-scheduler certs show`: the CA, how far a rotation is, and what it waits for."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from certs.custody import Phase
from webhook.commands.terminal import Terminal
from webhook.inspect.authorities import Authorities, look
from webhook.kube.config import connect

__all__ = ["Output", "run"]

Output = Literal["text", "json"]

# As git does: enough to tell a few CAs apart.
_SHOWN_LENGTH = 12
_UNDER_WAY: Mapping[Phase, str] = MappingProxyType(
    {
        "published": "A rotation is under way: the CA that follows signs once a replica has seen it in all entries "
        "for a minute (--ca-settle-seconds)",
        "switched": "A rotation is under way: the CA that goes leaves once no replica serves it",
    }
)


def run(*, kubeconfig: Path | None, namespace: str, output: Output) -> int:
    """Print what the cluster says of the CA and return the exit code; raises CustomSchedulerError."""
    terminal = Terminal()
    with closing(connect(kubeconfig)) as client:
        seen = look(client, namespace)
    if output == "json":
        terminal.json(seen)
    else:
        _print(seen, terminal)
    return 0


def _print(seen: Authorities, terminal: Terminal) -> None:
    terminal.line(f"Secret {seen.secret}, phase ", (seen.phase, "bold"))
    for authority in seen.authorities:
        terminal.line(
            f"  {authority.fingerprint[:_SHOWN_LENGTH]}  {authority.role:<7}  "
            f"until {_day(authority.valid_until)}  {authority.subject}"
        )
    terminal.line(
        _UNDER_WAY.get(seen.phase)
        or f"A new CA follows from {_day(seen.renews_at)} on, or after: custom-scheduler certs rotate"
    )
    terminal.line("")
    terminal.line("Replicas, and the CA that each serves")
    for replica in sorted(seen.replicas, key=lambda each: each.name):
        told = f"told at {replica.told_at:%Y-%m-%dT%H:%M:%SZ}" if replica.told_at else "told without a time"
        ended = ", and no longer counted" if replica.ended else ""
        terminal.line(f"  {replica.fingerprint[:_SHOWN_LENGTH]}  {replica.name}, {told}{ended}")
    if not seen.replicas:
        terminal.line("  none")
    terminal.line("")
    lacking = [each for each in seen.entries if not each.carries]
    terminal.line(
        f"{len(seen.entries) - len(lacking)} of {len(seen.entries)} entries carry these CAs in caBundle"
    )
    for entry in lacking:
        terminal.line(("  not yet: ", "yellow"), f"{entry.name} in {entry.configuration}")
    for neighbour in seen.neighbours:
        terminal.line(
            f"  {neighbour.fingerprint[:_SHOWN_LENGTH]}  of others, in {neighbour.entries} of them  "
            f"until {_day(neighbour.valid_until)}  {neighbour.subject}"
        )


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"
