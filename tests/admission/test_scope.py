from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.admission.reviews import Json, answer, operations, pod, review, workload
from webhook.admission.mutate import mutate
from webhook.admission.review import Review
from webhook.admission.validate import validate
from webhook.admission.verdict import Verdict
from webhook.admission.verify import verify
from webhook.policy.model import Exempt, Placement, Policy

OPT_IN_ONLY = {"custom-scheduler.io/opt-in": "true"}
STRICT = Policy(name="default", workloads="Deny", placement=Placement(verify="Deny"))

Entry = Callable[[Review, Policy], Verdict]
ENTRIES = {
    "validate": validate,
    "verify": verify,
    "mutate": partial(mutate, opted_in_by="pod"),
    "mutate namespace": partial(mutate, opted_in_by="namespace"),
}
every_entry = pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES.keys())


def assert_untouched(asked: Review, verdict: Verdict) -> None:
    assert verdict.outcome == "allow"
    assert answer(asked, verdict)["allowed"] is True
    assert operations(asked, verdict) == []


@every_entry
def test_every_entry_judges_an_opted_in_pod_without_the_label(entry: Entry) -> None:
    # What the tests below are measured against: not one of them would be left alone by chance.
    assert entry(review(pod(OPT_IN_ONLY)), STRICT).outcome in ("deny", "mutate")


@every_entry
@pytest.mark.parametrize("old", [pod(OPT_IN_ONLY), None])
def test_delete_is_allowed(entry: Entry, old: Json | None) -> None:
    asked = review(None, operation="DELETE", oldObject=old)

    assert_untouched(asked, entry(asked, STRICT))


@every_entry
def test_connect_is_allowed(entry: Entry) -> None:
    asked = review({"kind": "Pod"}, operation="CONNECT")

    assert_untouched(asked, entry(asked, STRICT))


@every_entry
@pytest.mark.parametrize(
    ("subresource", "obj"),
    [
        ("binding", {"kind": "Binding", "metadata": {"name": "web-1"}, "target": {"name": "n1"}}),
        ("eviction", {"kind": "Eviction", "metadata": {"name": "web-1"}}),
        ("ephemeralcontainers", pod(OPT_IN_ONLY)),
        ("resize", pod(OPT_IN_ONLY)),
        ("status", pod(OPT_IN_ONLY)),
        ("scale", {"kind": "Scale", "spec": {"replicas": 3}}),
    ],
)
@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
def test_subresource_is_allowed_without_a_word(
    entry: Entry, subresource: str, obj: Json, operation: str
) -> None:
    asked = review(obj, operation=operation, oldObject=obj, subResource=subresource)
    verdict = entry(asked, STRICT)

    assert_untouched(asked, verdict)
    assert verdict.warnings == []


@every_entry
@pytest.mark.parametrize(
    "obj",
    [
        {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {}},
        {"kind": "Binding", "metadata": {"name": "web-1"}, "target": {"name": "n1"}},
        {"kind": "W" * 300, "spec": {"nodeName": 5}},
    ],
)
def test_kind_that_nobody_asked_for_is_allowed_with_a_warning(entry: Entry, obj: Json) -> None:
    asked = review(obj)
    verdict = entry(asked, STRICT)

    assert_untouched(asked, verdict)
    assert verdict.warnings == [
        f"custom-scheduler judges no {obj['kind'][:50]}: the rules of its webhook are too broad"
    ]
    assert len(verdict.warnings[0]) <= 120


@pytest.mark.parametrize("entry", [ENTRIES["verify"], ENTRIES["mutate"], ENTRIES["mutate namespace"]])
def test_workload_is_asked_for_by_validate_alone(entry: Entry) -> None:
    verdict = entry(review(workload("Deployment")), STRICT)

    assert verdict.outcome == "allow"
    assert "judges no Deployment" in verdict.warnings[0]


def test_pod_of_a_foreign_group_is_no_pod() -> None:
    verdict = validate(review(pod(), kind={"group": "example.com", "version": "v1", "kind": "Pod"}), STRICT)

    assert verdict.allowed
    assert "judges no Pod" in verdict.warnings[0]


@every_entry
@pytest.mark.parametrize(
    ("exempt", "request_of", "rule"),
    [
        (Exempt(), {"namespace": "kube-system"}, "spec.exempt.namespaces"),
        (Exempt(namespaces=frozenset({"ci"})), {"namespace": "ci"}, "spec.exempt.namespaces"),
        (Exempt(users=frozenset({"oncall"})), {"userInfo": {"username": "oncall"}}, "spec.exempt.users"),
        (
            Exempt(users=frozenset({"system:serviceaccount:ci:deployer"})),
            {"userInfo": {"username": "system:serviceaccount:ci:deployer"}},
            "spec.exempt.users",
        ),
        (
            Exempt(groups=frozenset({"sre", "x"})),
            {"userInfo": {"username": "a", "groups": ["system:authenticated", "sre"]}},
            "spec.exempt.groups",
        ),
    ],
)
def test_exempt_request_is_left_as_it_is(
    entry: Entry, exempt: Exempt, request_of: dict[str, Any], rule: str
) -> None:
    policy = Policy(name="default", exempt=exempt, placement=Placement(verify="Deny"))
    asked = review(pod(OPT_IN_ONLY), **request_of)
    verdict = entry(asked, policy)

    assert_untouched(asked, verdict)
    assert verdict.audit_annotations == {"verdict": "allow", "policy": "default", "rule": rule}


def test_exemptions_match_whole_names() -> None:
    policy = Policy(
        name="default",
        exempt=Exempt(
            namespaces=frozenset({"team"}), users=frozenset({"ali"}), groups=frozenset({"system:auth"})
        ),
    )

    assert not validate(review(pod()), policy).allowed


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"custom-scheduler.io/enforce": "off", "custom-scheduler.io/exempt": "true"}},
        {"labels": {"custom-scheduler.io/opt-in": "false"}},
        {"annotations": {"kubernetes.io/config.mirror": "x", "custom-scheduler.io/placed-by": "default"}},
        {"ownerReferences": [{"kind": "DaemonSet", "name": "x", "controller": True}]},
        {"namespace": "kube-system"},
    ],
)
def test_nothing_that_a_pod_says_of_itself_is_an_escape(metadata: Json) -> None:
    obj = pod()
    obj["metadata"].update(metadata)

    assert not validate(review(obj), STRICT).allowed


def test_workload_in_an_exempt_namespace_is_left_as_it_is() -> None:
    assert validate(review(workload("Deployment"), namespace="kube-system"), STRICT).outcome == "allow"
    assert validate(review(workload("Deployment")), STRICT).outcome == "deny"
