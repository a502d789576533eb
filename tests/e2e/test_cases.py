"""The table on a real API server: through the webhooks, and then with the exported policies alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from itertools import groupby

import pytest
import yaml

from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from tests.cases.case import Case, Json, Outcome, Placement, assert_expected
from tests.cases.policies import POLICIES, written
from tests.cases.real import Api
from tests.cases.table import CASES, pod
from tests.waiting import eventually
from webhook.policy.cel.export import export_cel

# Those that nothing steers come last: what steers is taken away for them.
ORDERED = sorted(CASES, key=lambda case: not case.mutators)
GROUPS = [(key, list(cases)) for key, cases in groupby(ORDERED, lambda case: (case.policy, case.mutators))]

EXPORTED = "app.kubernetes.io/component=exported-policy"
KINDS = [
    f"{kind}{suffix}"
    for kind in ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")
    for suffix in ("", "Binding")
]
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
            new = policy.with_suffix(".new")
            new.write_text(written(name))
            new.replace(policy)
            eventually(partial(is_in_force, installation, name), f"policy {name} in force")
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
        exported = export_cel(POLICIES[name])
        cases_cluster.kubectl("apply", "--prune", "-l", EXPORTED, *PRUNE, "-f", "-", input=exported)
        if mutators:
            type_checks += eventually(partial(checked_types, cases_cluster), "types checked")
        else:
            cases_cluster.kubectl("delete", "mutatingadmissionpolicybindings", "-l", EXPORTED)
        await_policies(cases_cluster, api, f"{name}-{mutators}".lower())
        found |= {case.name: api.admit(case) for case in cases}
    return found


def denies(api: Api) -> bool:
    return api.admit(Case(name="probe", namespace="cases-exempt", object=pod())).denied is not None


def steers(api: Api) -> bool:
    obj = api.admit(Case(name="probe", namespace="cases-exempt", object=pod({"custom": "web"}))).object
    return obj is not None and Placement.of(obj).placed_by is not None


def is_in_force(installation: Installation, name: str) -> bool:
    lines = installation.ops("/metrics")[1].splitlines()
    generation = next(
        (line for line in lines if line.startswith("custom_scheduler_policy_generation ")), "0 0"
    )
    return float(generation.split()[1]) == POLICIES[name].generation


def checked_types(cluster: DevCluster) -> list[Json]:
    answer = cluster.kubectl("get", "validatingadmissionpolicies", "-l", EXPORTED, "-o", "json")
    found: list[Json] = json.loads(answer.stdout)["items"]
    done = all(
        each.get("status", {}).get("observedGeneration") == each["metadata"]["generation"] for each in found
    )
    return found if done else []


def await_policies(cluster: DevCluster, api: Api, mark: str) -> None:
    """Wait until the API server keeps to every policy and binding as it is now.

    It learns of each kind in order. So a policy and a binding that are made last, and seen at work, show that
    those before them are known.
    """
    cluster.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(sentinels(mark)))

    def at_work() -> bool:
        answer = api.request(
            "POST",
            "/api/v1/namespaces/cases-free/pods?dryRun=All",
            {**pod(), "metadata": {"name": "sentinel", "namespace": "cases-free"}},
        )
        warned = any(warning.endswith(mark) for warning in answer.warnings)
        return warned and mark in answer.body["metadata"].get("annotations", {})

    eventually(at_work, f"admission policies at work up to {mark}")


def sentinels(mark: str) -> Iterator[Json]:
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    common = {
        "matchConstraints": {"resourceRules": [pods]},
        "matchConditions": [
            {"name": "is-the-sentinel", "expression": 'object.metadata.?name.orValue("") == "sentinel"'}
        ],
    }
    patch = (
        '(has(object.metadata.annotations) ? [] : [JSONPatch{op: "add", path: "/metadata/annotations", value: {"a": "b"}}])'
        f' + [JSONPatch{{op: "add", path: "/metadata/annotations/{mark}", value: "seen"}}]'
    )
    for kind, policy, binding in (
        (
            "ValidatingAdmissionPolicy",
            {"validations": [{"expression": "false", "message": mark}]},
            {"validationActions": ["Warn"]},
        ),
        (
            "MutatingAdmissionPolicy",
            {
                "reinvocationPolicy": "Never",
                "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
            },
            {},
        ),
    ):
        header = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": f"sentinel-{mark}"}}
        yield {**header, "kind": kind, "spec": {**common, **policy}}
        yield {**header, "kind": f"{kind}Binding", "spec": {"policyName": f"sentinel-{mark}", **binding}}


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
