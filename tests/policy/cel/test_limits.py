from __future__ import annotations

import pytest

from webhook.errors import PolicyError
from webhook.policy.cel.export import export_cel
from webhook.policy.model import Exempt, Placement, Policy, RequiredLabel, Toleration
from webhook.policy.pattern import Pattern


def with_pattern(pattern: str) -> Policy:
    return Policy(name="default", required_labels=(RequiredLabel(key="a", pattern=Pattern(pattern)),))


@pytest.mark.parametrize("pattern", [r"a\Cb", r"\\\C", r"\Qx\E\C"])
def test_a_pattern_of_bytes_is_refused_with_its_path(pattern: str) -> None:
    with pytest.raises(
        PolicyError, match=r"spec\.requiredLabels\[0\]\.pattern is .*write a dot in place of \\C"
    ):
        export_cel(with_pattern(pattern))


def test_an_open_quotation_is_refused_since_it_would_quote_what_comes_after() -> None:
    with pytest.raises(PolicyError, match=r"close its \\Q with \\E"):
        export_cel(with_pattern(r"a\Q.b"))


@pytest.mark.parametrize("pattern", [r"\\C", r"\Q\C\E", r"a|b", "(?i)x", r"\Qa.b\E"])
def test_other_patterns_stay_whole(pattern: str) -> None:
    export_cel(with_pattern(pattern))


@pytest.mark.parametrize("seconds", [2**53 + 1, -(2**53) - 1])
def test_seconds_that_a_float_cannot_hold_are_refused(seconds: int) -> None:
    toleration = Toleration(key="a", operator="Exists", effect="NoExecute", toleration_seconds=seconds)

    with pytest.raises(PolicyError, match=r"spec\.placement\.tolerations\[0\]\.tolerationSeconds"):
        export_cel(Policy(name="default", placement=Placement(tolerations=(toleration,))))


@pytest.mark.parametrize(
    "policy",
    [
        Policy(
            name="a", required_labels=tuple(RequiredLabel(key=f"k{n}", message="m" * 250) for n in range(200))
        ),
        Policy(name="a", exempt=Exempt(users=frozenset(f"somebody-{n}" for n in range(10_000)))),
    ],
    ids=["rules", "users"],
)
def test_a_policy_too_long_for_one_expression_is_refused(policy: Policy) -> None:
    with pytest.raises(PolicyError, match=r"custom-scheduler-\S+ would have an expression of \d+ characters"):
        export_cel(policy)
