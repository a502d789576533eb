"""What the export asks of a request: who sent it, and what its object is. `webhook.admission` asks the same."""

from __future__ import annotations

from webhook.policy import wording
from webhook.policy.cel.expression import Expression, Text, Variable, listed, literal, text
from webhook.policy.model import Policy
from webhook.policy.names import (
    CONTROLLER_MANAGER,
    DAEMON_SET_CONTROLLER,
    DEFAULT_SCHEDULER,
    MIRROR_ANNOTATION,
    NODE_GROUP,
    NODE_USER_PREFIX,
)

__all__ = [
    "IS_CREATE",
    "IS_DAEMON",
    "IS_MANAGED",
    "IS_MIRROR",
    "IS_MIRROR_OF_NODE",
    "IS_TERMINATING",
    "MANIFEST",
    "NODE_NAME",
    "SCHEDULER_NAME",
    "another_scheduler",
    "not_exempt",
    "shown",
]

_USER = 'request.userInfo.?username.orValue("")'
_GROUPS = "request.userInfo.?groups.orValue([])"
_CONTROLLERS = "object.metadata.?ownerReferences.orValue([]).filter(o, o.?controller.orValue(false))"
_SHOWN_LENGTH = 63

IS_CREATE = Expression('request.operation == "CREATE"')
IS_TERMINATING = Expression("has(object.metadata.deletionTimestamp)")
IS_MIRROR = Expression(f"{literal(MIRROR_ANNOTATION)} in object.metadata.?annotations.orValue({{}})")
IS_MIRROR_OF_NODE = Expression(
    f"({IS_MIRROR} && {_USER}.startsWith({literal(NODE_USER_PREFIX)}) && {literal(NODE_GROUP)} in {_GROUPS})"
)
IS_DAEMON = Expression(
    f"({_USER} == {literal(DAEMON_SET_CONTROLLER)} || "
    f'({_USER} == {literal(CONTROLLER_MANAGER)} && {_CONTROLLERS}.exists(o, o.kind == "DaemonSet")))'
)
IS_MANAGED = Expression(f"size({_CONTROLLERS}) > 0")
NODE_NAME = Expression('object.spec.?nodeName.orValue("")')
SCHEDULER_NAME = Expression('object.spec.?schedulerName.orValue("")')
_behind = text(
    wording.TEMPLATE_BEHIND,
    kind=Expression("variables.controllers[0].kind"),
    name=Expression("variables.controllers[0].name"),
)
# Where the developer changes the pod under review.
MANIFEST = (
    Variable(name="controllers", expression=_CONTROLLERS),
    Variable(
        name="manifest",
        expression=f"size(variables.controllers) == 0 ? {literal(wording.OWN_MANIFEST)} : {_behind.expression}",
    ),
)


def not_exempt(policy: Policy) -> dict[str, str]:
    """The conditions, by name, that keep away whom the policy exempts; namespaces are the selectors' part."""
    conditions: dict[str, str] = {}
    if policy.exempt.users:
        conditions["user-is-not-exempt"] = f"!({_USER} in {_literals(policy.exempt.users)})"
    if policy.exempt.groups:
        conditions["groups-are-not-exempt"] = f"!{_GROUPS}.exists(g, g in {_literals(policy.exempt.groups)})"
    return conditions


def another_scheduler(policy: Policy) -> Expression:
    """Whether the pod asks for a scheduler that is neither ours nor the default."""
    names = listed(map(literal, ("", DEFAULT_SCHEDULER, policy.placement.scheduler_name)))
    return Expression(f"(!({SCHEDULER_NAME} in {names}))")


def shown(value: str) -> Text:
    """A name from the object in quotes, cut as the webhook cuts it."""
    cut = f'{value}.substring(0, {_SHOWN_LENGTH}) + "…"'
    return Text('"', Expression(f"(size({value}) > {_SHOWN_LENGTH} ? {cut} : {value})"), '"')


def _literals(names: frozenset[str]) -> str:
    return listed(map(literal, sorted(names)))
