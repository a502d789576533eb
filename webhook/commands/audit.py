"""`custom-scheduler audit`: what already runs against the policy."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Literal

import msgspec

from webhook.commands.terminal import Terminal
from webhook.errors import ConfigurationError
from webhook.inspect.audit import AuditReport, DeniedOwner, NamespaceTally, audit
from webhook.inspect.cluster import NoPolicy, policy_in_force
from webhook.inspect.forecast import Enforcement
from webhook.kube.config import connect
from webhook.kube.transport import KubeClient
from webhook.policy.model import Policy
from webhook.policy.names import ENFORCE_LABEL
from webhook.policy.parse import load_policy

__all__ = ["Output", "run"]

Output = Literal["text", "json"]

_SECTIONS: tuple[tuple[Enforcement | None, str], ...] = (
    ("deny", f"Denied at the next restart, in namespaces with {ENFORCE_LABEL}=deny"),
    ("warn", f"Would be denied with deny, in namespaces with {ENFORCE_LABEL}=warn"),
    (None, f"Would be denied if enforcement began, in namespaces without {ENFORCE_LABEL}"),
)
_NAMES_SHOWN = 20


def run(
    namespaces: tuple[str, ...],
    *,
    policy: Path | None,
    kubeconfig: Path | None,
    own_namespace: str,
    limit: int,
    output: Output,
) -> int:
    """Print what would be denied and return the exit code; raises CustomSchedulerError."""
    terminal = Terminal()
    progress = terminal.progress()
    with closing(connect(kubeconfig)) as client, closing(progress):
        if policy is None:
            rules, source = _in_force(client, own_namespace)
        else:
            rules, source = load_policy(policy, own_namespace=own_namespace), str(policy)
        report = audit(
            client, rules, namespaces=tuple(dict.fromkeys(namespaces)), limit=limit, tell=progress.show
        )
    if output == "json":
        of = {"name": rules.name, "source": source, "generation": rules.generation}
        terminal.json({"policy": of, **msgspec.to_builtins(report)})
    else:
        _print(report, rules, source, terminal)
    return 1 if any(tally.denied_owners for tally in report.namespaces) else 0


def _in_force(client: KubeClient, own_namespace: str) -> tuple[Policy, str]:
    try:
        return policy_in_force(client, own_namespace)
    except NoPolicy as error:
        raise ConfigurationError(
            f"{error}; give --policy FILE, or with --namespace the one that it is installed in"
        ) from error


def _print(report: AuditReport, policy: Policy, source: str, terminal: Terminal) -> None:
    terminal.line(f"Policy {policy.name} from {source}")
    for enforce, heading in _SECTIONS:
        denied = [owner for owner in report.denied if owner.enforce == enforce]
        if denied:
            terminal.line("")
            terminal.line((heading, "bold"))
        for owner in denied:
            style = "bold red" if enforce == "deny" else "yellow"
            terminal.line((_title(owner), style), f": {owner.message}")
    if report.left_out:
        terminal.line("")
        terminal.line(f"and {report.left_out:,} more owners, in {_names(_left_out(report))}")
        terminal.line("Name a namespace, or raise --limit, to see them")
    terminal.line("")
    clean = [tally for tally in report.namespaces if tally.owners and not tally.denied_owners]
    if clean:
        terminal.line(f"Nothing would be denied in: {_names([tally.name for tally in clean])}")
    if next_step := next((tally.name for tally in clean if tally.enforce != "deny"), None):
        terminal.line(f"Next step: kubectl label namespace {next_step} {ENFORCE_LABEL}=deny --overwrite")
    if report.exempt:
        terminal.line(f"Not looked at, as the policy exempts them: {_names(report.exempt)}")
    terminal.line(_summary(report.namespaces))


def _left_out(report: AuditReport) -> list[str]:
    shown = Counter(owner.namespace for owner in report.denied)
    left = {tally.name: tally.denied_owners - shown[tally.name] for tally in report.namespaces}
    return [f"{name} {owners:,}" for name, owners in left.items() if owners]


def _title(owner: DeniedOwner) -> str:
    pods = "1 pod" if owner.pods == 1 else f"{owner.pods:,} pods"
    return f"{owner.namespace}: {owner.kind} {owner.name}" + ("" if owner.kind == "Pod" else f" ({pods})")


def _names(names: list[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _summary(tallies: list[NamespaceTally]) -> str:
    owners, pods, denied_owners, denied_pods = (
        sum(counts)
        for counts in (
            [tally.owners for tally in tallies],
            [tally.pods for tally in tallies],
            [tally.denied_owners for tally in tallies],
            [tally.denied_pods for tally in tallies],
        )
    )
    return (
        f"{owners:,} owners with {pods:,} pods in {len(tallies):,} namespaces judged, "
        f"{denied_owners:,} owners with {denied_pods:,} pods would be denied"
    )
