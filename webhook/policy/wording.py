"""The sentences of denials and warnings, as templates for `str.format`.

The webhook fills them in, and the CEL export compiles them, so that both say the same.
"""

from __future__ import annotations

import re

from webhook.policy.model import RequiredLabel
from webhook.policy.names import DECLINED, OPT_IN_LABEL

__all__ = [
    "AFFINITY_FOUND",
    "AFFINITY_REMEDY",
    "FAULT",
    "IN_OWNER",
    "IS",
    "IS_MISSING",
    "KEEP_LABEL",
    "LABEL_REMEDY",
    "LABEL_SUMMARY",
    "NODE_FOUND",
    "NODE_REMEDY",
    "NOT_STEERED",
    "OTHER_SCHEDULER",
    "OTHER_SCHEDULER_REMEDY",
    "OWN_MANIFEST",
    "PROBE_ANSWER",
    "PROBE_REMEDY",
    "REMOVE_IT",
    "SCHEDULER_FOUND",
    "SCHEDULER_REMEDY",
    "SET_LABEL",
    "TEMPLATE_BEHIND",
    "TRY_AGAIN",
    "allowed_values",
    "introduction",
    "label_field",
]

FAULT = "{summary}. {remedy}"

LABEL_SUMMARY = "{introduction}{field} {found}{within}"
LABEL_REMEDY = "Allowed: {allowed}. {mend}"
IS_MISSING = "is missing"
IS = "is {value}"
IN_OWNER = " in {owner}"
SET_LABEL = "Set {field} in {where}"
KEEP_LABEL = "Keep it: kubectl label pod {name} -n {namespace} --overwrite {key}={value}"

OWN_MANIFEST = "the pod's manifest"
TEMPLATE_BEHIND = "the pod template behind {kind} {name}"

NOT_STEERED = "Pod opted in but is not steered: {found}"
TRY_AGAIN = (
    "Create the pod again; if it stays so, a cluster admin finds the cause with: custom-scheduler doctor"
)
NODE_FOUND = "spec.nodeName is {value}"
NODE_REMEDY = f'Remove it from {{where}}, for {{ours}} to choose the node, or label the pod {OPT_IN_LABEL}: "{DECLINED}"'
SCHEDULER_FOUND = "spec.schedulerName is {value}"
SCHEDULER_REMEDY = "Allowed: {ours}. {mend}"
REMOVE_IT = "Remove it from {where}"
AFFINITY_FOUND = "its required node affinity lacks {lacking}"
AFFINITY_REMEDY = f"Needed in each of its terms. {TRY_AGAIN}"

OTHER_SCHEDULER = "Pod opted in but names another scheduler: spec.schedulerName is {value}"
OTHER_SCHEDULER_REMEDY = (
    f'Allowed: {{ours}}. Remove spec.schedulerName from {{where}}, or label it {OPT_IN_LABEL}: "{DECLINED}"'
)

# What `doctor --prove` looks for in the API server's answer.
PROBE_ANSWER = "custom-scheduler answers probe {nonce}"
PROBE_REMEDY = "Nothing is wrong: custom-scheduler doctor --prove asked for this denial"

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN_VALUES = 10


def introduction(rule: RequiredLabel) -> str:
    """Return the rule's message, and what joins it to what was found."""
    joint = " " if rule.message.endswith((".", "!", "?", ":")) else ": "
    return f"{rule.message}{joint}"


def allowed_values(rule: RequiredLabel) -> str:
    """Return the values that keep the rule, in words."""
    if rule.pattern:
        return f"a value that matches {rule.pattern.text}"
    if not rule.allowed_values:
        return "any value"
    shown_values = ", ".join(value or '""' for value in rule.allowed_values[:_SHOWN_VALUES])
    more = len(rule.allowed_values) - _SHOWN_VALUES
    return f"{shown_values} and {more} more" if more > 0 else shown_values


def label_field(path: str, key: str) -> str:
    """Return the path of a label, as the API server writes it: k8s.io/apimachinery pkg/util/validation/field Path.Key."""
    return f"{path}.{key}" if _PLAIN_KEY.fullmatch(key) else f"{path}[{key}]"
