"""The label rules in CEL, for pods and for the pod templates of workloads."""

from __future__ import annotations

from webhook.policy import wording
from webhook.policy.cel import subject
from webhook.policy.cel.expression import Expression, Text, Variable, all_of, listed, literal, text
from webhook.policy.cel.limits import whole
from webhook.policy.model import Action, Policy, RequiredLabel

__all__ = ["POD_VARIABLES", "WORKLOAD_VARIABLES", "pod_faults", "workload_faults"]

_CRON_JOB = 'request.kind.kind == "CronJob"'


def _template_labels(workload: str) -> str:
    # dyn: the type checker looks at each kind by itself, and would miss the fields of the others.
    spec = f"dyn({workload}.spec)"
    return (
        f"({_CRON_JOB} ? {spec}.?jobTemplate.?spec.?template.?metadata.?labels.orValue({{}}) : "
        f"{spec}.?template.?metadata.?labels.orValue({{}}))"
    )


# Not judged is what nobody can be asked to mend: a terminating pod must be able to lose its finalizers, and a kubelet
# can't label a mirror pod.
POD_VARIABLES = (
    Variable(name="labels", expression="object.metadata.?labels.orValue({})"),
    Variable(
        name="replaced", expression=f"{subject.IS_CREATE} ? {{}} : oldObject.metadata.?labels.orValue({{}})"
    ),
    Variable(name="judged", expression=f"!{subject.IS_TERMINATING} && !{subject.IS_MIRROR_OF_NODE}"),
    *subject.MANIFEST,
)

# Nor is what a controller manages: the template that it was made from was judged.
WORKLOAD_VARIABLES = (
    Variable(name="labels", expression=_template_labels("object")),
    Variable(name="replaced", expression=f"{subject.IS_CREATE} ? {{}} : {_template_labels('oldObject')}"),
    Variable(name="judged", expression=f"!{subject.IS_TERMINATING} && !({subject.IS_MANAGED})"),
    Variable(
        name="path",
        expression=f'({_CRON_JOB} ? "spec.jobTemplate.spec.template" : "spec.template") + ".metadata.labels"',
    ),
    Variable(name="owner", expression='request.kind.kind + " " + request.name'),
)


def pod_faults(policy: Policy, action: Action) -> list[Expression]:
    """For each rule with this action: the text of a pod's fault, or an empty text."""
    return [_pod_fault(rule) for rule in policy.required_labels if rule.action == action]


def workload_faults(policy: Policy, action: Action) -> list[Expression]:
    """For each rule that comes to this action on workloads: the text of a template's fault, or an empty text."""
    return [
        _workload_fault(rule)
        for rule in policy.required_labels
        if action == ("Warn" if rule.action == "Deny" and policy.workloads == "Warn" else rule.action)
        and policy.workloads != "Off"
    ]


def _pod_fault(rule: RequiredLabel) -> Expression:
    field = wording.label_field("metadata.labels", rule.key)
    old = _value("variables.replaced", rule)
    set_it = text(wording.SET_LABEL, field=field, where=Expression("variables.manifest"))
    # An update is only refused where the old value was fine. A label's value needs no quotes, unless it is empty.
    keep_it = text(
        wording.KEEP_LABEL,
        name=Expression("request.name"),
        namespace=Expression("request.namespace"),
        key=rule.key,
        value=Expression(f"""({old} == "" ? "''" : {old})"""),
    )
    mend = Expression(f"({subject.IS_CREATE} ? {set_it.expression} : {keep_it.expression})")
    return _fault(rule, field=field, within="", mend=mend)


def _workload_fault(rule: RequiredLabel) -> Expression:
    field = Text(Expression("variables.path"), wording.label_field("", rule.key))
    owner = Expression("variables.owner")
    return _fault(
        rule,
        field=field,
        within=text(wording.IN_OWNER, owner=owner),
        mend=text(wording.SET_LABEL, field=field, where=owner),
    )


def _fault(rule: RequiredLabel, *, field: str | Text, within: str | Text, mend: str | Text) -> Expression:
    is_value = text(wording.IS, value=Text('"', _value("variables.labels", rule), '"'))
    found = Expression(
        f"({_has('variables.labels', rule)} ? {is_value.expression} : {literal(wording.IS_MISSING)})"
    )
    told = text(
        wording.FAULT,
        summary=text(
            wording.LABEL_SUMMARY,
            introduction=wording.introduction(rule),
            field=field,
            found=found,
            within=within,
        ),
        remedy=text(wording.LABEL_REMEDY, allowed=wording.allowed_values(rule), mend=mend),
    )
    broken = all_of(
        "variables.judged",
        f"!{_accepts('variables.labels', rule)}",
        f"({subject.IS_CREATE} || {_accepts('variables.replaced', rule)})",
    )
    return Expression(f'({broken} ? {told.expression} : "")')


def _accepts(labels: str, rule: RequiredLabel) -> str:
    has, value = _has(labels, rule), _value(labels, rule)
    if rule.allowed_values:
        return f"({has} && {value} in {listed(map(literal, rule.allowed_values))})"
    if rule.pattern:
        return f"({has} && {value}.matches({literal(whole(rule.pattern))}))"
    return f"({has})"


def _has(labels: str, rule: RequiredLabel) -> str:
    return f"{literal(rule.key)} in {labels}"


def _value(labels: str, rule: RequiredLabel) -> Expression:
    return Expression(f"{labels}[{literal(rule.key)}]")
