"""Manifests against a policy, with no cluster: what an API server would say to each, and where it stands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from webhook.admission.objects import POD, WORKLOADS
from webhook.admission.review import MalformedReview
from webhook.admission.verdict import Outcome
from webhook.inspect.forecast import Surroundings, forecast
from webhook.inspect.manifests import Broken, Manifest
from webhook.policy.model import Action, Policy
from webhook.policy.wording import label_field

__all__ = ["Finding", "Report", "Result", "check"]

Affected = Literal["object", "pods"]

_SOME_KEY = "[...]"  # how msgspec writes the key of a mapping in a path


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that an object breaks; `line` is that of the field, or of what should hold it."""

    line: int
    action: Action
    rule: str
    field: str
    message: str


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What would come of one object.

    `affects` is `pods` where a workload could be applied and its pods would get what `findings` tell of.
    `repeats` is the place of an earlier manifest of the same object.
    """

    source: str
    line: int
    kind: str
    namespace: str
    name: str
    outcome: Outcome
    affects: Affected
    findings: tuple[Finding, ...]
    repeats: str | None

    @property
    def title(self) -> str:
        """The object's kind, namespace and name, for people."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    @property
    def denial(self) -> str:
        """All that denies it, in one line."""
        return "; ".join(finding.message for finding in self.findings if finding.action == "Deny")


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer; `other_kinds` counts the objects that no policy is about."""

    policy: str
    results: list[Result]
    broken: list[Broken]
    other_kinds: int

    @property
    def exit_code(self) -> int:
        """2 where a part of the input can't be judged, 1 where something would be denied, else 0."""
        if self.broken:
            return 2
        return 1 if self.count("deny") else 0

    def count(self, outcome: Outcome) -> int:
        """How many objects came to this."""
        return sum(result.outcome == outcome for result in self.results)


def check(manifests: Iterable[Manifest | Broken], policy: Policy, namespace: Surroundings) -> Report:
    """Return the report on `manifests`, as if each were created in `namespace`."""
    results: list[Result] = []
    broken: list[Broken] = []
    other_kinds = 0
    seen: dict[tuple[str, ...], str] = {}
    for manifest in manifests:
        if isinstance(manifest, Broken):
            broken.append(manifest)
        elif manifest.group_kind == POD or manifest.group_kind in WORKLOADS:
            judged = _judge(manifest, policy, namespace, seen)
            if isinstance(judged, Broken):
                broken.append(judged)
            else:
                results.append(judged)
        else:
            other_kinds += 1
    return Report(policy=policy.name, results=results, broken=broken, other_kinds=other_kinds)


def _judge(
    manifest: Manifest, policy: Policy, namespace: Surroundings, seen: dict[tuple[str, ...], str]
) -> Result | Broken:
    try:
        verdict = forecast(manifest.group_kind, manifest.value(), policy, namespace)
    except MalformedReview as error:
        return _malformed(manifest, str(error))
    return Result(
        source=manifest.source,
        line=manifest.line,
        kind=manifest.kind,
        namespace=manifest.namespace,
        name=manifest.display_name,
        outcome=verdict.outcome,
        affects="object" if manifest.group_kind == POD or policy.workloads == "Deny" else "pods",
        findings=tuple(
            Finding(
                line=manifest.line_of(fault.field),
                action=fault.action,
                rule=fault.rule,
                field=fault.field,
                message=fault.message,
            )
            for fault in verdict.faults
        ),
        repeats=_repeats(manifest, seen),
    )


def _repeats(manifest: Manifest, seen: dict[tuple[str, ...], str]) -> str | None:
    if not manifest.name:
        return None
    here = f"{manifest.source}:{manifest.line}"
    first = seen.setdefault((*manifest.group_kind, manifest.namespace, manifest.name), here)
    return first if first != here else None


def _malformed(manifest: Manifest, fault: str) -> Broken:
    field, _, told = fault.removeprefix("$.request.object").removeprefix(".").partition(": ")
    if field.endswith(_SOME_KEY):
        field = _first_that_is_no_text(manifest.value(), field.removesuffix(_SOME_KEY))
    quotes = "; put it in quotes" if told.startswith(("Expected `str`", "Expected `str | null`")) else ""
    return Broken(
        source=manifest.source,
        line=manifest.line_of(field),
        fault=f"{manifest.kind} {manifest.display_name}: {field}: {told}{quotes}",
    )


def _first_that_is_no_text(obj: dict[str, Any], mapping: str) -> str:
    """Return the path of the label or annotation that YAML reads as something else, such as `on` or a number."""
    members: Any = obj
    for name in mapping.split("."):
        members = members[name]
    return label_field(mapping, next(key for key, value in members.items() if not isinstance(value, str)))
