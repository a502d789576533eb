"""The check of a pod's final state in CEL. See `webhook.admission.verify`."""

from __future__ import annotations

from webhook.policy import wording
from webhook.policy.cel import subject
from webhook.policy.cel.affinity import HAS_SELECTOR, MATCHES_SOMETHING, TERMS, lacks
from webhook.policy.cel.expression import Expression, Text, Variable, listed, literal, text
from webhook.policy.model import NodeSelectorRequirement, Policy

__all__ = ["other_scheduler_fault", "placement_variables"]

_MANIFEST = Expression("variables.manifest")


def placement_variables(policy: Policy) -> tuple[Variable, ...]:
    """What leads to `variables.placement`: the text of the fault of a new pod that opted in, or an empty text."""
    excused = [subject.IS_MIRROR_OF_NODE, subject.IS_DAEMON]
    if policy.placement.other_scheduler == "Respect":
        excused.append(subject.another_scheduler(policy))
    lacking = listed(map(_lacking, policy.placement.node_affinity.required), lines=True)
    return (
        TERMS,
        Variable(name="lacking", expression=f'{lacking}.filter(r, r != "").join("; ")'),
        Variable(name="excused", expression=" || ".join(excused)),
        Variable(
            name="placement",
            expression=(
                f'variables.excused ? "" :\n'
                f'{subject.NODE_NAME} != "" ? {_node_fault(policy).expression} :\n'
                f"{subject.SCHEDULER_NAME} != {literal(policy.placement.scheduler_name)} ? "
                f"{_scheduler_fault(policy)} :\n"
                f'variables.lacking != "" ? {_affinity_fault().expression} : ""'
            ),
        ),
    )


def other_scheduler_fault(policy: Policy) -> Text:
    """The text for a pod that opted in and names another scheduler."""
    return text(
        wording.FAULT,
        summary=text(wording.OTHER_SCHEDULER, value=subject.shown(subject.SCHEDULER_NAME)),
        remedy=text(wording.OTHER_SCHEDULER_REMEDY, ours=policy.placement.scheduler_name, where=_MANIFEST),
    )


def _node_fault(policy: Policy) -> Text:
    return _not_steered(
        text(wording.NODE_FOUND, value=subject.shown(subject.NODE_NAME)),
        text(wording.NODE_REMEDY, where=_MANIFEST, ours=policy.placement.scheduler_name),
    )


def _scheduler_fault(policy: Policy) -> str:
    def told(mend: Text) -> str:
        found = text(wording.SCHEDULER_FOUND, value=subject.shown(subject.SCHEDULER_NAME))
        remedy = text(wording.SCHEDULER_REMEDY, ours=policy.placement.scheduler_name, mend=mend)
        return _not_steered(found, remedy).expression

    # Another scheduler is refused by a policy of its own, where the webhook would have refused it before this check.
    another = (
        '""' if policy.placement.other_scheduler == "Deny" else told(text(wording.REMOVE_IT, where=_MANIFEST))
    )
    return f"({subject.another_scheduler(policy)} ? {another} : {told(Text(wording.TRY_AGAIN))})"


def _affinity_fault() -> Text:
    found = text(wording.AFFINITY_FOUND, lacking=Expression("variables.lacking"))
    return _not_steered(found, Text(wording.AFFINITY_REMEDY))


def _not_steered(found: Text, remedy: Text) -> Text:
    return text(wording.FAULT, summary=text(wording.NOT_STEERED, found=found), remedy=remedy)


def _lacking(wanted: NodeSelectorRequirement) -> str:
    somewhere = f"variables.terms.exists(t, {MATCHES_SOMETHING} && {lacks('t', wanted)})"
    return f'(!{HAS_SELECTOR} || {somewhere}) ? {literal(str(wanted))} : ""'
