"""From a policy file to a Policy; every fault is told with its file, line, path, value and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, get_args

from msgspec.structs import replace

from webhook.documents import API_VERSION, Value, open_document, read_document
from webhook.errors import PolicyError
from webhook.policy.controllers import why_group_not_exempt, why_user_not_exempt
from webhook.policy.model import (
    Action,
    Exempt,
    Mode,
    NodeAffinity,
    NodeSelectorOperator,
    NodeSelectorRequirement,
    OtherScheduler,
    Placement,
    Policy,
    PreferredRequirement,
    RequiredLabel,
    TaintEffect,
    Toleration,
    TolerationOperator,
)
from webhook.policy.names import KUBE_SYSTEM
from webhook.policy.pattern import Pattern
from webhook.policy.syntax import (
    DNS_LABEL,
    DNS_NAME,
    LABEL_KEY,
    LABEL_VALUE,
    is_dns_label,
    is_dns_subdomain,
    is_label_key,
    is_label_value,
)

__all__ = ["load_policy", "parse_policy", "read_policy"]

KIND = "PlacementPolicy"

_KEYS = ("apiVersion", "kind", "metadata", "spec")
_INT64 = 2**63 - 1
_MESSAGE_LENGTH = 256
_ACCOUNT = "system:serviceaccount:"
# Names are compared letter for letter: one that can't be anybody's would exempt nobody, in silence.
_SUBJECT = " in full: printable, no * and no space around it"

T = TypeVar("T")


def parse_policy(text: str | bytes, *, source: str, own_namespace: str) -> Policy:
    """Return the policy in `text`; `own_namespace` and kube-system are exempt whatever it says.

    `source` names the text in errors. Raises PolicyError.
    """
    root = open_document(text, source=source, kind=KIND, error=PolicyError)
    # A file of another kind is told so first, and not that it has that kind's keys.
    of = root.mapping(required=("apiVersion", "kind"))
    of["apiVersion"].choice((API_VERSION,))
    of["kind"].choice((KIND,))
    fields = root.mapping(_KEYS, required=_KEYS)
    return _policy(fields["metadata"], fields["spec"], own_namespace)


def load_policy(path: Path, *, own_namespace: str) -> Policy:
    """Return the policy in the file at `path`. Raises PolicyError, also where the file can't be read."""
    return parse_policy(read_policy(path), source=str(path), own_namespace=own_namespace)


def read_policy(path: Path) -> bytes:
    """Return the bytes of a policy file, of which one too large is not read whole. Raises PolicyError."""
    return read_document(path, kind=KIND, error=PolicyError)


def _policy(metadata: Value, spec: Value, own_namespace: str) -> Policy:
    named = metadata.mapping(("name",), required=("name",))
    policy = Policy(
        name=named["name"].checked(is_dns_subdomain, DNS_NAME),
        **spec.arguments(
            Policy,
            required_labels=_list_of(_required_label),
            workloads=_choice(Mode),
            exempt=_exempt,
            placement=_placement,
        ),
    )
    always = policy.exempt.namespaces | {KUBE_SYSTEM, own_namespace}
    return replace(policy, exempt=replace(policy.exempt, namespaces=always))


def _required_label(value: Value) -> RequiredLabel:
    rule = value.struct(
        RequiredLabel,
        key=_label_key,
        allowed_values=_some(_label_value),
        pattern=_pattern,
        message=_message,
        action=_choice(Action),
    )
    if rule.allowed_values and rule.pattern:
        value.fault("has both allowedValues and pattern; keep one of them")
    return rule


def _exempt(value: Value) -> Exempt:
    return value.struct(
        Exempt,
        namespaces=_set_of(lambda entry: entry.checked(is_dns_label, f"a namespace's name: {DNS_LABEL}")),
        users=_set_of(_user),
        groups=_set_of(_group),
    )


def _placement(value: Value) -> Placement:
    return value.struct(
        Placement,
        scheduler_name=lambda entry: entry.checked(is_dns_subdomain, DNS_NAME),
        other_scheduler=_choice(OtherScheduler),
        node_affinity=_node_affinity,
        tolerations=_list_of(_toleration),
        verify=_choice(Mode),
    )


def _node_affinity(value: Value) -> NodeAffinity:
    return value.struct(NodeAffinity, required=_list_of(_required_node), preferred=_list_of(_preferred_node))


def _required_node(value: Value) -> NodeSelectorRequirement:
    requirement = value.struct(
        NodeSelectorRequirement,
        key=_label_key,
        operator=_choice(NodeSelectorOperator),
        values=_list_of(_label_value),
    )
    _check_values(value, requirement)
    return requirement


def _preferred_node(value: Value) -> PreferredRequirement:
    requirement = value.struct(
        PreferredRequirement,
        weight=lambda entry: entry.integer(1, 100),
        key=_label_key,
        operator=_choice(NodeSelectorOperator),
        values=_list_of(_label_value),
    )
    _check_values(value, requirement)
    return requirement


def _check_values(value: Value, requirement: NodeSelectorRequirement) -> None:
    # k8s.io/kubernetes pkg/apis/core/validation ValidateNodeSelectorRequirement; Gt and Lt compare as int64.
    values = requirement.values
    match requirement.operator:
        case "In" | "NotIn" if not values:
            value.fault(f"has no values; {requirement.operator} needs at least one")
        case "Exists" | "DoesNotExist" if values:
            value.fault(f"has values; {requirement.operator} takes none")
        case "Gt" | "Lt" if len(values) != 1 or not _is_int64(values[0]):
            value.fault(f"has the values {list(values)}; {requirement.operator} takes one integer, in quotes")


def _toleration(value: Value) -> Toleration:
    toleration = value.struct(
        Toleration,
        key=_label_key,
        operator=_choice(TolerationOperator),
        value=_label_value,
        effect=_choice(TaintEffect),
        toleration_seconds=lambda entry: entry.integer(-_INT64, _INT64),
    )
    # k8s.io/kubernetes pkg/apis/core/validation ValidateTolerations. Gt and Lt stand behind an alpha gate:
    # an API server without it would refuse every pod that we steer.
    if not toleration.key and toleration.operator != "Exists":
        value.fault("has no key; only the operator Exists goes without one, and then tolerates every taint")
    if toleration.operator == "Exists" and toleration.value:
        value.fault("has a value; the operator Exists takes none")
    if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
        value.fault("has tolerationSeconds; only the effect NoExecute takes them")
    return toleration


def _label_key(value: Value) -> str:
    return value.checked(is_label_key, LABEL_KEY)


def _label_value(value: Value) -> str:
    return value.checked(is_label_value, LABEL_VALUE)


def _pattern(value: Value) -> Pattern:
    # A label's value has no other characters. A YAML block such as `pattern: |` ends in a line break, which no value
    # would ever match.
    text = value.checked(
        lambda text: bool(text) and text.isprintable(),
        "one line of printable characters; leave it out if any value will do",
    )
    try:
        return Pattern(text)
    except ValueError as error:
        value.refuse(f"RE2 refuses it: {error}")


def _message(value: Value) -> str:
    # Warnings travel in an HTTP header, which carries no control characters, and are cut at 256 characters.
    return value.checked(
        lambda text: bool(text.strip()) and text.isprintable() and len(text) <= _MESSAGE_LENGTH,
        f"one line of 1 to {_MESSAGE_LENGTH} printable characters",
    )


def _user(value: Value) -> str:
    user = value.checked(_is_subject, f"a user's name{_SUBJECT}")
    if user.startswith(_ACCOUNT) and not _is_account(user):
        value.refuse(f"expected {_ACCOUNT}NAMESPACE:NAME")
    if reason := why_user_not_exempt(user):
        value.refuse(f"a policy can't exempt it: {reason}")
    return user


def _group(value: Value) -> str:
    group = value.checked(_is_subject, f"a group's name{_SUBJECT}")
    if _is_account(group):
        value.refuse("this is a user: list it in spec.exempt.users")
    if reason := why_group_not_exempt(group):
        value.refuse(f"a policy can't exempt it: {reason}")
    return group


def _is_subject(text: str) -> bool:
    return bool(text) and text == text.strip() and text.isprintable() and "*" not in text


def _is_account(text: str) -> bool:
    namespace, _, name = text.removeprefix(_ACCOUNT).partition(":")
    return text.startswith(_ACCOUNT) and is_dns_label(namespace) and is_dns_subdomain(name)


def _choice(allowed: object) -> Callable[[Value], str]:
    return lambda value: value.choice(get_args(allowed))


def _list_of(read: Callable[[Value], T]) -> Callable[[Value], tuple[T, ...]]:
    return lambda value: value.items(read)


def _some(read: Callable[[Value], T]) -> Callable[[Value], tuple[T, ...]]:
    def read_some(value: Value) -> tuple[T, ...]:
        return value.items(read) or value.fault("is an empty list; give at least one value, or leave it out")

    return read_some


def _set_of(read: Callable[[Value], T]) -> Callable[[Value], frozenset[T]]:
    return lambda value: frozenset(value.items(read))


def _is_int64(text: str) -> bool:
    return text.isascii() and text.isdecimal() and int(text) <= _INT64
