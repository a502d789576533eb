"""`custom-scheduler certs show`: the CA, how far a rotation is, and what it waits for; or the certificate of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from certs.custody import Phase
from webhook.commands.terminal import Terminal
from webhook.errors import ApiError, ConfigurationError
from webhook.inspect.authorities import Authorities, AuthorityNotFound, look
from webhook.inspect.certfiles import ServedChain, look_at_files
from webhook.inspect.certmode import ServedFiles, served_files
from webhook.kube.config import connect
from webhook.kube.transport import KubeClient

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
    """Print what the cluster says of the CA and return the exit code; raises CustomSchedulerError.

    In files mode, and without a CA of ours, that is what it says of the certificate in the Secret that is mounted.
    """
    terminal = Terminal()
    with closing(connect(kubeconfig)) as client:
        try:
            seen: Authorities | ServedChain = look(client, namespace)
        except AuthorityNotFound:
            files = _files(client, namespace)
            if files is None:
                raise
            seen = _chain(client, namespace, files)
    if output == "json":
        terminal.json(seen)
    elif isinstance(seen, ServedChain):
        _print_chain(seen, terminal)
    else:
        _print(seen, terminal)
    return 0


def _files(client: KubeClient, namespace: str) -> ServedFiles | None:
    try:
        return served_files(client, namespace)
    except ApiError:  # what is known already says more
        return None


def _chain(client: KubeClient, namespace: str, files: ServedFiles) -> ServedChain:
    if files.secret is None:
        raise ConfigurationError(
            f"the webhook in {namespace} serves certificates of others (files mode), and its Deployment mounts them from "
            "no Secret: look where its --tls-cert comes from"
        )
    return look_at_files(client, namespace, files)


def _print_chain(seen: ServedChain, terminal: Terminal) -> None:
    terminal.line("Certificates of others (files mode), in Secret ", (seen.secret, "bold"))
    for each in seen.certificates:
        terminal.line(
            f"  {each.fingerprint[:_SHOWN_LENGTH]}  until {_day(each.valid_until)}  {each.subject}, of {each.issuer}"
        )
    terminal.line("")
    lacking = [f"{each.name} in {each.configuration}" for each in seen.entries if not each.trusts]
    _print_entries(len(seen.entries), lacking, "who issued them", terminal)


def _print_entries(count: int, lacking: Sequence[str], what: str, terminal: Terminal) -> None:
    terminal.line(f"{count - len(lacking)} of {count} entries carry {what} in caBundle")
    for name in lacking:
        terminal.line(("  not yet: ", "yellow"), name)


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
    lacking = [f"{each.name} in {each.configuration}" for each in seen.entries if not each.carries]
    _print_entries(len(seen.entries), lacking, "these CAs", terminal)
    for neighbour in seen.neighbours:
        terminal.line(
            f"  {neighbour.fingerprint[:_SHOWN_LENGTH]}  of others, in {neighbour.entries} of them  "
            f"until {_day(neighbour.valid_until)}  {neighbour.subject}"
        )


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"
