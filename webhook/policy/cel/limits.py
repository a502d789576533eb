"""What a policy may hold that the API server's CEL can't take; docs/cel-export.md tells the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping

from webhook.errors import PolicyError
from webhook.policy.model import Policy
from webhook.policy.pattern import Pattern

__all__ = ["refuse_long_expressions", "refuse_what_cel_cannot_take", "whole"]

# A JSON patch made by CEL carries numbers as float64: k8s.io/apiserver pkg/cel/mutation/dynamic ConvertToNative.
_EXACT_IN_A_FLOAT = 2**53
# github.com/google/cel-go parser/parser.go, expressionSizeCodePointLimit
_EXPRESSION_LENGTH = 100_000
# An escape, or a quotation, in which there are none.
_ESCAPE = re.compile(r"\\Q.*?(?:\\E|$)|\\(?P<escaped>.)", re.DOTALL)


def refuse_what_cel_cannot_take(policy: Policy) -> None:
    """Raise PolicyError, with the path in the policy, where an exported policy would not mean the same."""
    for index, rule in enumerate(policy.required_labels):
        if rule.pattern and (fault := _fault(rule.pattern)):
            raise PolicyError(
                f"spec.requiredLabels[{index}].pattern is {rule.pattern.text}; for CEL, {fault}"
            )
    for index, toleration in enumerate(policy.placement.tolerations):
        seconds = toleration.toleration_seconds or 0
        if abs(seconds) > _EXACT_IN_A_FLOAT:
            raise PolicyError(
                f"spec.placement.tolerations[{index}].tolerationSeconds is {seconds}; CEL's patches carry integers up to "
                f"{_EXACT_IN_A_FLOAT}: leave it out to tolerate the taint for ever"
            )


def refuse_long_expressions(name: str, value: object) -> None:
    """Raise PolicyError where a part of the exported object `name` is longer than CEL's parser takes."""
    if isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            refuse_long_expressions(name, part)
    elif isinstance(value, str) and len(value) > _EXPRESSION_LENGTH:
        raise PolicyError(
            f"the policy is too long for CEL: {name} would have an expression of {len(value)} characters, of "
            f"{_EXPRESSION_LENGTH} at most; list less in it"
        )


def _fault(pattern: Pattern) -> str | None:
    if any(escape["escaped"] == "C" for escape in _ESCAPE.finditer(pattern.text)):
        return "write a dot in place of \\C, which Go's RE2 doesn't know"
    try:
        Pattern(whole(pattern))
    except ValueError:
        return "close its \\Q with \\E: it stands in parentheses there"
    return None


def whole(pattern: Pattern) -> str:
    """The pattern, anchored: CEL's `matches` looks for a match anywhere in the value."""
    return rf"\A(?:{pattern.text})\z"
