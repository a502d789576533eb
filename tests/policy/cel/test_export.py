from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cases.policies import POLICIES
from webhook.policy.cel.export import LABELS, admission_policies, export_cel
from webhook.policy.model import Exempt, Placement, Policy, RequiredLabel
from webhook.policy.parse import parse_policy

MANIFESTS = Path(__file__).parents[3] / "manifests/base"
NAMESPACE_NAME = "kubernetes.io/metadata.name"

Json = dict[str, Any]

DEFAULT = POLICIES["default"]


def named(objects: list[Json], kind: str) -> dict[str, Json]:
    return {each["metadata"]["name"]: each["spec"] for each in objects if each["kind"] == kind}


def webhooks(configuration: str) -> dict[str, Json]:
    shipped = yaml.safe_load((MANIFESTS / f"webhook-{configuration}.yaml").read_text())
    return {entry["name"].removesuffix(".custom-scheduler.io"): entry for entry in shipped["webhooks"]}


def comparable(selector: Json | None) -> list[tuple[str, str, tuple[str, ...]]]:
    expressions = (selector or {}).get("matchExpressions", [])
    return sorted((each["key"], each["operator"], tuple(sorted(each["values"]))) for each in expressions)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_the_yaml_holds_every_object_without_aliases(policy: Policy) -> None:
    exported = export_cel(policy)

    assert list(yaml.safe_load_all(exported)) == admission_policies(policy)
    assert "&id" not in exported


def test_expressions_of_several_lines_are_written_as_blocks() -> None:
    lines = export_cel(DEFAULT).splitlines()

    patch = lines.index("      expression: |-")
    assert lines[patch + 1].startswith("        (object.spec")


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_every_object_carries_our_labels_and_where_it_came_from(policy: Policy) -> None:
    for each in admission_policies(policy):
        assert each["metadata"]["labels"] == LABELS
        origin = each["metadata"]["annotations"]["custom-scheduler.io/exported-from"]
        assert origin == f"PlacementPolicy {policy.name}, generation {policy.generation:012x}"


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_names_are_unique_and_every_binding_has_its_policy(policy: Policy) -> None:
    exported = admission_policies(policy)

    assert len({(each["kind"], each["metadata"]["name"]) for each in exported}) == len(exported)
    for kind in ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"):
        bound = {spec["policyName"] for spec in named(exported, f"{kind}Binding").values()}
        assert bound == set(named(exported, kind))


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_a_fault_of_ours_never_stops_a_pod(policy: Policy) -> None:
    specs = [each["spec"] for each in admission_policies(policy) if not each["kind"].endswith("Binding")]

    assert {spec["failurePolicy"] for spec in specs} == {"Ignore"}


@pytest.mark.parametrize(
    ("configuration", "webhook", "kind", "binding"),
    [
        ("validating", "deny.pods", "ValidatingAdmissionPolicy", "pods-deny"),
        ("validating", "warn.pods", "ValidatingAdmissionPolicy", "pods-deny-as-warning"),
        ("validating", "deny.workloads", "ValidatingAdmissionPolicy", "workloads-deny"),
        ("validating", "warn.workloads", "ValidatingAdmissionPolicy", "workloads-deny-as-warning"),
        ("validating", "verify.pods", "ValidatingAdmissionPolicy", "verify-pods"),
        ("validating", "verify.namespaces", "ValidatingAdmissionPolicy", "verify-namespaces"),
        ("mutating", "mutate.pods", "MutatingAdmissionPolicy", "mutate-pods"),
        ("mutating", "mutate.namespaces", "MutatingAdmissionPolicy", "mutate-namespaces"),
        ("mutating", "mutate.pods", "ValidatingAdmissionPolicy", "other-scheduler-pods"),
        ("mutating", "mutate.namespaces", "ValidatingAdmissionPolicy", "other-scheduler-namespaces"),
    ],
)
def test_selectors_and_rules_are_those_of_the_shipped_webhooks(
    configuration: str, webhook: str, kind: str, binding: str
) -> None:
    spec = "spec: {workloads: Deny, placement: {otherScheduler: Deny}}"
    policy = parse_policy(
        f"apiVersion: custom-scheduler.io/v1alpha1\nkind: PlacementPolicy\nmetadata: {{name: a}}\n{spec}\n",
        source="test",
        own_namespace="custom-scheduler",
    )
    shipped = webhooks(configuration)[webhook]

    exported = admission_policies(policy)

    bound = named(exported, f"{kind}Binding")[f"custom-scheduler-{binding}"]
    resources = bound["matchResources"]
    constraints = named(exported, kind)[bound["policyName"]]["matchConstraints"]
    assert comparable(resources["namespaceSelector"]) == comparable(shipped["namespaceSelector"])
    assert comparable(resources.get("objectSelector")) == comparable(shipped.get("objectSelector"))
    assert constraints["resourceRules"] == shipped["rules"]
    assert constraints["matchPolicy"] == resources["matchPolicy"] == shipped["matchPolicy"]


def test_reinvocation_is_as_the_webhooks() -> None:
    (spec,) = named(admission_policies(DEFAULT), "MutatingAdmissionPolicy").values()

    assert {entry["reinvocationPolicy"] for entry in webhooks("mutating").values()} == {
        spec["reinvocationPolicy"]
    }


def test_every_exempt_namespace_is_excluded_everywhere() -> None:
    policy = Policy(name="a", exempt=Exempt(namespaces=frozenset({"kube-system", "ours", "storage"})))

    for each in admission_policies(policy):
        if each["kind"].endswith("Binding"):
            selector = each["spec"]["matchResources"]["namespaceSelector"]
            (excluded,) = [e for e in selector["matchExpressions"] if e["key"] == NAMESPACE_NAME]
            assert excluded["operator"] == "NotIn"
            assert excluded["values"] == ["kube-system", "ours", "storage"]


def test_exempt_users_and_groups_are_conditions_of_every_policy() -> None:
    policy = Policy(name="a", exempt=Exempt(users=frozenset({'o"brien'}), groups=frozenset({"on-call"})))

    for each in admission_policies(policy):
        if not each["kind"].endswith("Binding"):
            conditions = {one["name"]: one["expression"] for one in each["spec"]["matchConditions"]}
            assert r'["o\"brien"]' in conditions["user-is-not-exempt"]
            assert '["on-call"]' in conditions["groups-are-not-exempt"]


@pytest.mark.parametrize(
    ("action", "bindings"),
    [
        ("Deny", {"pods-deny": ["Deny"], "pods-deny-as-warning": ["Warn"]}),
        ("Warn", {"pods-warn": ["Warn"]}),
        ("Audit", {"pods-audit": ["Audit"]}),
    ],
)
def test_a_rules_action_is_its_bindings(action: Any, bindings: dict[str, list[str]]) -> None:
    policy = Policy(
        name="a",
        required_labels=(RequiredLabel(key="a", action=action),),
        workloads="Off",
        placement=Placement(verify="Off"),
    )

    found = named(admission_policies(policy), "ValidatingAdmissionPolicyBinding")

    assert {name: spec["validationActions"] for name, spec in found.items()} == {
        f"custom-scheduler-{name}": actions for name, actions in bindings.items()
    }


def test_a_policy_without_rules_and_checks_only_steers() -> None:
    policy = Policy(name="a", required_labels=(), placement=Placement(verify="Off"))

    assert {each["kind"] for each in admission_policies(policy)} == {
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    }


def test_a_denial_is_forbidden_as_the_webhooks_is() -> None:
    for spec in named(admission_policies(DEFAULT), "ValidatingAdmissionPolicy").values():
        (validation,) = spec["validations"]
        assert validation["reason"] == "Forbidden"
        assert "\n" not in validation["message"]


def test_the_guide_selects_what_is_exported() -> None:
    guide = (MANIFESTS.parents[1] / "docs/cel-export.md").read_text()
    kinds = {each["kind"] for each in admission_policies(DEFAULT)}

    applied = guide.partition("kubectl apply")[2].partition("\n\n")[0]
    assert f"app.kubernetes.io/component={LABELS['app.kubernetes.io/component']}" in applied
    assert {line.rpartition("/")[2].rstrip(" \\") for line in applied.splitlines()[1:]} == kinds


def test_nothing_is_written_to_the_audit_log_of_what_is_kept() -> None:
    for spec in named(admission_policies(DEFAULT), "ValidatingAdmissionPolicy").values():
        assert "auditAnnotations" not in spec
