"""The table on a real API server: through the webhooks, and then with the exported policies alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from itertools import groupby

import pytest

from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from tests.cases.builders import pod, required, requirement, term
from tests.cases.case import Case, Json, Outcome, Placement, assert_expected
from tests.cases.policies import POLICIES, put_in_force, written
from tests.cases.real import Api
from tests.cases.sentinel import await_policies
from tests.cases.table import CASES
from tests.waiting import eventually
from webhook.policy.cel.export import export_cel
from webhook.policy.model import Policy, RequiredLabel

# Those that nothing steers come last: what steers is taken away for them.
ORDERED = sorted(CASES, key=lambda case: not case.mutators)
GROUPS = [(key, list(cases)) for key, cases in groupby(ORDERED, lambda case: (case.policy, case.mutators))]

EXPORTED = "app.kubernetes.io/component=exported-policy"
KINDS = [
    f"{kind}{suffix}"
    for kind in ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")
    for suffix in ("", "Binding")
]
PODS_OF_DENY = "/api/v1/namespaces/cases-deny/pods?dryRun=All"
PRUNE = [f"--prune-allowlist=admissionregistration.k8s.io/v1/{kind}" for kind in KINDS]


@pytest.fixture(scope="module")
def cases_cluster() -> Iterator[DevCluster]:
    with DevCluster(scheduler=False) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def api(cases_cluster: DevCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    api = Api(cases_cluster, tmp_path_factory.mktemp("api"))
    api.prepare(CASES)
    yield api
    api.close()


@pytest.fixture(scope="module")
def through_webhooks(
    cases_cluster: DevCluster, api: Api, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Outcome]:
    """What comes of each case through the webhooks; they are gone afterwards."""
    policy = tmp_path_factory.mktemp("policy") / "policy.yaml"
    policy.write_text(written("default"))
    found: dict[str, Outcome] = {}
    with Installation(cases_cluster, policy=policy, options=["--no-binder"]) as installation:
        eventually(partial(denies, api), "a denial by the webhook")
        eventually(partial(steers, api), "steering by the webhook")
        for (name, mutators), cases in GROUPS:
            if not mutators:
                cases_cluster.kubectl(
                    "delete", "mutatingwebhookconfiguration", "custom-scheduler", "--ignore-not-found"
                )
                eventually(lambda: not steers(api), "the mutating webhook's end")
            put_in_force(name, policy, installation.ops)
            found |= {case.name: api.admit(case) for case in cases}
        cases_cluster.kubectl("delete", "validatingwebhookconfiguration", "custom-scheduler")
        eventually(lambda: not denies(api), "the validating webhook's end")
    return found


@pytest.fixture(scope="module")
def type_checks() -> list[Json]:
    """What the type checker of kube-controller-manager said of each exported policy."""
    return []


@pytest.fixture(scope="module")
def as_cel(
    cases_cluster: DevCluster, api: Api, through_webhooks: dict[str, Outcome], type_checks: list[Json]
) -> dict[str, Outcome]:
    """What comes of each case with the exported policies alone."""
    found: dict[str, Outcome] = {}
    for (name, mutators), cases in GROUPS:
        apply(cases_cluster, POLICIES[name])
        if mutators:
            type_checks += eventually(partial(checked_types, cases_cluster), "types checked")
        else:
            cases_cluster.kubectl("delete", "mutatingadmissionpolicybindings", "-l", EXPORTED)
        await_policies(cases_cluster, api, f"{name}-{mutators}".lower())
        found |= {case.name: api.admit(case) for case in cases}
    return found


def apply(cluster: DevCluster, policy: Policy) -> None:
    """As docs/cel-export.md says."""
    cluster.kubectl("apply", "--prune", "-l", EXPORTED, *PRUNE, "-f", "-", input=export_cel(policy))


def denies(api: Api) -> bool:
    return api.admit(Case(name="probe", namespace="cases-exempt", object=pod())).denied is not None


def steers(api: Api) -> bool:
    obj = api.admit(Case(name="probe", namespace="cases-exempt", object=pod({"custom": "web"}))).object
    return obj is not None and Placement.of(obj).placed_by is not None


def checked_types(cluster: DevCluster) -> list[Json]:
    answer = cluster.kubectl("get", "validatingadmissionpolicies", "-l", EXPORTED, "-o", "json")
    found: list[Json] = json.loads(answer.stdout)["items"]
    done = all(
        each.get("status", {}).get("observedGeneration") == each["metadata"]["generation"] for each in found
    )
    return found if done else []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_through_the_webhooks(case: Case, through_webhooks: dict[str, Outcome]) -> None:
    assert_expected(case, through_webhooks[case.name])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_with_the_exported_policies_alone(case: Case, as_cel: dict[str, Outcome]) -> None:
    assert_expected(case, as_cel[case.name])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_say_the_same(
    case: Case, through_webhooks: dict[str, Outcome], as_cel: dict[str, Outcome]
) -> None:
    assert as_cel[case.name].denied == through_webhooks[case.name].denied


def test_the_types_of_exported_expressions_check(as_cel: dict[str, Outcome], type_checks: list[Json]) -> None:
    warnings = {each["metadata"]["name"]: each["status"].get("typeChecking") for each in type_checks}

    assert warnings
    assert all(not found for found in warnings.values()), warnings


# What docs/cel-export.md says that CEL can't do.


def test_a_denial_has_no_cause_for_each_field(
    cases_cluster: DevCluster, api: Api, as_cel: dict[str, Outcome]
) -> None:
    rules = (RequiredLabel(key="a"), RequiredLabel(key="b"))
    apply(cases_cluster, Policy(name="causes", required_labels=rules))
    await_policies(cases_cluster, api, "causes")

    answer = api.request("POST", PODS_OF_DENY, {**pod(), "metadata": {"name": "bare"}})

    (cause,) = answer.body["details"]["causes"]
    assert "labels.a is missing" in cause["message"]
    assert "labels.b is missing" in cause["message"]
    assert "field" not in cause


def test_a_denial_longer_than_five_kibibytes_only_names_the_policy(
    cases_cluster: DevCluster, api: Api, as_cel: dict[str, Outcome]
) -> None:
    rules = tuple(RequiredLabel(key=f"k{number}", message="m" * 256) for number in range(20))
    apply(cases_cluster, Policy(name="long", required_labels=rules))
    await_policies(cases_cluster, api, "long")

    outcome = api.admit(Case(name="bare", object=pod()))

    assert outcome.denied == "PlacementPolicy long is not kept"


def test_a_pod_with_thousands_of_terms_is_not_steered_and_its_user_is_told(
    cases_cluster: DevCluster, api: Api, as_cel: dict[str, Outcome]
) -> None:
    apply(cases_cluster, POLICIES["default"])
    await_policies(cases_cluster, api, "terms")

    def crowded(size: int) -> Outcome:
        terms = [term(requirement("a", "In", f"v{number}")) for number in range(size)]
        obj = pod({"custom-scheduler.io/opt-in": "true"}, affinity=required(*terms))
        return api.admit(Case(name="crowded", namespace="cases-free", object=obj))

    few, many = crowded(3000), crowded(8000)

    assert few.object is not None
    assert many.object is not None
    assert Placement.of(few.object).scheduler == "custom-scheduler"
    assert Placement.of(many.object).scheduler == "default-scheduler"
    assert many.warnings[0].startswith("Pod opted in but is not steered: spec.schedulerName")
