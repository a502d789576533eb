"""`custom-scheduler check`: manifests against the policy, with no cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast, get_args

from webhook.commands.terminal import Progress, Terminal
from webhook.errors import ConfigurationError
from webhook.inspect.check import Report, Result, check
from webhook.inspect.forecast import Enforcement, Surroundings
from webhook.inspect.junit import junit
from webhook.inspect.manifests import Broken, Manifest, read_manifests, read_text, standard_input
from webhook.policy.model import Policy
from webhook.policy.names import ENFORCE_LABEL, OPT_IN_LABEL, OPTED_IN
from webhook.policy.parse import load_policy
from webhook.policy.syntax import is_label_key, is_label_value
from webhook.settings import DEFAULT_NAMESPACE

__all__ = ["Output", "run"]

Output = Literal["text", "json", "junit"]

_NAME_LABEL = "kubernetes.io/metadata.name"
_WORDS = {"Deny": ("denied", "bold red"), "Warn": ("warning", "yellow"), "Audit": ("audit", "cyan")}


def run(files: tuple[Path, ...], *, policy: Path | None, namespace_labels: str, output: Output) -> int:
    """Print what would come of the manifests and return the exit code; raises ConfigurationError."""
    rules = load_policy(policy, own_namespace=DEFAULT_NAMESPACE) if policy else Policy(name="default")
    surroundings = _surroundings(_parse_labels(namespace_labels))
    terminal = Terminal()
    progress = terminal.progress()
    try:
        report = check(progress.over(_manifests(files, progress), "{} objects read"), rules, surroundings)
    finally:
        progress.close()
    if output == "json":
        terminal.json(_document(report))
    elif output == "junit":
        terminal.data(junit(report))
    else:
        _print(report, terminal)
    for broken in report.broken:
        terminal.fault(f"{_place(broken.source, broken.line)} {broken.fault}")
    return report.exit_code


def _manifests(files: tuple[Path, ...], progress: Progress) -> Iterator[Manifest | Broken]:
    is_empty = True
    for path in dict.fromkeys(files):
        progress.show(f"reading {path}")
        text = read_text(path, standard_input())
        parts = [text] if isinstance(text, Broken) else read_manifests(text, source=str(path))
        for part in parts:
            is_empty = False
            yield part
    if is_empty:
        # A pipe whose first command failed must not look like a pass.
        yield Broken(source=", ".join(map(str, files)), fault="no Kubernetes object in it")


def _parse_labels(text: str) -> Mapping[str, str]:
    labels: dict[str, str] = {}
    for label in filter(None, text.split(",")):
        key, equals, value = label.partition("=")
        if not equals or not is_label_key(key) or not is_label_value(value):
            raise ConfigurationError(
                f"--namespace-labels {label!r}: expected KEY=VALUE,KEY=VALUE, as in {ENFORCE_LABEL}=warn"
            )
        labels[key] = value
    return labels


def _surroundings(labels: Mapping[str, str]) -> Surroundings:
    enforce = labels.get(ENFORCE_LABEL, "deny")
    if enforce not in get_args(Enforcement):
        raise ConfigurationError(f"--namespace-labels {ENFORCE_LABEL}={enforce}: allowed: deny, warn")
    return Surroundings(
        name=labels.get(_NAME_LABEL, ""),
        enforce=cast("Enforcement", enforce),
        opted_in=labels.get(OPT_IN_LABEL) == OPTED_IN,
    )


def _document(report: Report) -> dict[str, Any]:
    counts = {
        "judged": len(report.results),
        "denied": report.count("deny"),
        "warned": report.count("warn"),
        "otherKinds": report.other_kinds,
        "broken": len(report.broken),
    }
    return {
        "policy": report.policy,
        "summary": counts,
        "results": report.results,
        "broken": report.broken,
    }


def _print(report: Report, terminal: Terminal) -> None:
    for result in report.results:
        for finding in result.findings:
            word = _WORDS[finding.action]
            if finding.action == "Deny" and result.affects == "pods":
                word = ("pods denied", word[1])
            place = _place(result.source, finding.line)
            terminal.line(f"{place} ", word, f": {result.title}: {finding.message}")
        if result.repeats:
            terminal.line(*_again(result))
    terminal.line(_summary(report))


def _again(result: Result) -> tuple[str | tuple[str, str], ...]:
    place = _place(result.source, result.line)
    told = f": {result.title} stands in {result.repeats} too; what is applied last counts"
    return (f"{place} ", ("note", "cyan"), told)


def _summary(report: Report) -> str:
    parts = [
        f"{len(report.results)} judged by policy {report.policy}",
        f"{report.count('deny')} would be denied",
        f"{report.count('warn')} would be warned about",
    ]
    if report.other_kinds:
        parts.append(f"{report.other_kinds} of other kinds")
    if report.broken:
        parts.append(f"{len(report.broken)} could not be judged")
    return ", ".join(parts)


def _place(source: str, line: int | None) -> str:
    return f"{source}:" if line is None else f"{source}:{line}:"
