"""`custom-scheduler doctor`: checks an installation and names the fix; with --prove, shows that a denial works."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Literal

from webhook.commands.terminal import Terminal
from webhook.inspect.doctor import examine
from webhook.inspect.finding import Finding
from webhook.inspect.prove import Proof, prove
from webhook.kube.config import connect

__all__ = ["Output", "run"]

Output = Literal["text", "json"]

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def run(*, kubeconfig: Path | None, namespace: str, prove_it: bool, output: Output) -> int:
    """Print what is found and return the exit code; raises CustomSchedulerError.

    With `prove_it`, 0 only if our denial came back; the checks follow where it did not, to say why. Without it, 0 if
    nothing fails.
    """
    terminal = Terminal()
    with closing(connect(kubeconfig)) as client:
        proof = prove(client) if prove_it else None
        findings = [] if proof and proof.proven else list(examine(client, namespace))
    if output == "json":
        report = {"proof": proof, "findings": findings}
        terminal.json(report)
    else:
        _print(proof, findings, terminal)
    if proof is not None:
        return 0 if proof.proven else 1
    return 1 if any(finding.level == "fail" for finding in findings) else 0


def _print(proof: Proof | None, findings: Iterable[Finding], terminal: Terminal) -> None:
    if proof is not None and proof.proven:
        terminal.line(("proven: ", "bold green"), proof.text)
    elif proof is not None:
        terminal.line(("not proven: ", "bold red"), proof.text)
        _print_fix(proof.fix, terminal)
        terminal.line("")
    for finding in findings:
        terminal.line((f"{finding.level:<4}", _STYLES[finding.level]), f"  {finding.subject}: {finding.text}")
        _print_fix(finding.fix, terminal)


def _print_fix(fix: str, terminal: Terminal) -> None:
    if fix:
        terminal.line(f"      fix: {fix}")
