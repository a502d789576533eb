"""What a policy may hold that the API server's CEL can't take; docs/cel-export.md tells the rest."""

from __future__ import annotations

from webhook.errors import PolicyError
from webhook.policy.model import Policy
from webhook.policy.pattern import Pattern

__all__ = ["refuse_what_cel_cannot_take", "whole"]

# A JSON patch made by CEL carries numbers as float64: k8s.io/apiserver pkg/cel/mutation/dynamic ConvertToNative.
_EXACT_IN_A_FLOAT = 2**53


def refuse_what_cel_cannot_take(policy: Policy) -> None:
    """Raise PolicyError, with the path in the policy, where an exported policy would not mean the same."""
    for index, rule in enumerate(policy.required_labels):
        if rule.pattern:
            try:
                Pattern(whole(rule.pattern))
            except ValueError:
                raise PolicyError(
                    f"spec.requiredLabels[{index}].pattern: CEL needs it whole in parentheses, which the open \\Q of "
                    f"{rule.pattern.text} would quote; close it with \\E"
                ) from None
    for index, toleration in enumerate(policy.placement.tolerations):
        if abs(toleration.toleration_seconds or 0) > _EXACT_IN_A_FLOAT:
            raise PolicyError(
                f"spec.placement.tolerations[{index}].tolerationSeconds: CEL carries numbers up to {_EXACT_IN_A_FLOAT} "
                f"exactly, not {toleration.toleration_seconds}; leave it out to tolerate the taint for ever"
            )


def whole(pattern: Pattern) -> str:
    """The pattern, anchored: CEL's `matches` looks for a match anywhere in the value."""
    return rf"\A(?:{pattern.text})\z"
