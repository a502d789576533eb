"""What the shipped manifests promise, read from what kustomize makes of them."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from webhook.policy.names import ENFORCE_LABEL, PROBE_NAMESPACE
from webhook.policy.parse import load_policy
from webhook.scheduling.config import load_configuration
from webhook.server.app import DECISIONS
from webhook.serving.options import ServingOptions

MANIFESTS = Path(__file__).parents[2] / "manifests"
KUBECTL = Path(sys.executable).with_name("kubectl")
VARIANTS = [
    "base",
    "overlays/single",
    "overlays/other-namespace",
    "overlays/devcluster",
    "overlays/cluster-wide",
    "overlays/fail",
    "overlays/cert-manager",
]
# Those whose webhook runs as pods, and not beside the API server.
RUNNING = [each for each in VARIANTS if each != "overlays/devcluster"]
CLUSTER_WIDE = ["overlays/cluster-wide", "overlays/fail"]
OWN_NAMESPACE = {"overlays/other-namespace": "placement"}


@cache
def build(variant: str) -> tuple[dict[str, Any], ...]:
    made = subprocess.run(
        [KUBECTL, "kustomize", MANIFESTS / variant], check=True, capture_output=True, text=True, timeout=60
    )
    return tuple(yaml.safe_load_all(made.stdout))


def of_kind(variant: str, *kinds: str) -> list[dict[str, Any]]:
    return [found for found in build(variant) if found["kind"] in kinds]


def entries(variant: str) -> list[dict[str, Any]]:
    configurations = of_kind(variant, "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
    return [entry for configuration in configurations for entry in configuration["webhooks"]]


def path_called(entry: dict[str, Any]) -> str:
    client = entry["clientConfig"]
    path: str = client["service"]["path"] if "service" in client else urlsplit(client["url"]).path
    return path


def requirement(selector: dict[str, Any], key: str) -> tuple[str, list[str]]:
    (found,) = [e for e in selector["matchExpressions"] if e["key"] == key]
    return found["operator"], found.get("values", [])


@pytest.mark.parametrize("variant", VARIANTS)
def test_entries_answer_within_two_seconds_and_only_the_overlay_fail_fails_closed(variant: str) -> None:
    for entry in entries(variant):
        closed = variant == "overlays/fail" and entry["name"] == "deny.pods.custom-scheduler.io"
        assert entry["failurePolicy"] == ("Fail" if closed else "Ignore")
        assert entry["timeoutSeconds"] == 2
        assert entry["sideEffects"] == "None"
        assert entry["matchPolicy"] == "Equivalent"
        assert entry["admissionReviewVersions"] == ["v1"]
        assert "caBundle" not in entry["clientConfig"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_entry_leaves_kube_system_and_our_own_namespace_out(variant: str) -> None:
    own = OWN_NAMESPACE.get(variant, "custom-scheduler")
    for entry in entries(variant):
        operator, names = requirement(entry["namespaceSelector"], "kubernetes.io/metadata.name")
        if operator == "In":
            assert not {"kube-system", own} & set(names)
        else:
            assert (operator, names[:2]) == ("NotIn", ["kube-system", own])
            assert len(names) == 2 or variant in CLUSTER_WIDE


@pytest.mark.parametrize("variant", CLUSTER_WIDE)
def test_cluster_wide_judges_each_namespace_once_unless_it_is_listed(variant: str) -> None:
    by_name = {entry["name"].removesuffix(".custom-scheduler.io"): entry for entry in entries(variant)}
    names = "kubernetes.io/metadata.name"
    enforce = "custom-scheduler.io/enforce"
    deny, verify = (by_name[each]["namespaceSelector"] for each in ("deny.pods", "verify.pods"))

    # A namespace is either denied, or listed and only verified, or labelled warn and left to warn.pods.
    assert requirement(deny, enforce) == requirement(verify, enforce) == ("NotIn", ["warn"])
    assert requirement(verify, names) == ("In", requirement(deny, names)[1][2:])
    assert by_name["deny.workloads"]["namespaceSelector"] == deny
    assert requirement(by_name["warn.pods"]["namespaceSelector"], enforce) == ("In", ["warn"])


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_probe_has_its_namespace_under_its_own_name_where_denials_are_enforced(variant: str) -> None:
    names = {
        each["metadata"]["name"]: each["metadata"].get("labels", {}) for each in of_kind(variant, "Namespace")
    }

    assert set(names) == {OWN_NAMESPACE.get(variant, "custom-scheduler"), PROBE_NAMESPACE}
    assert names[PROBE_NAMESPACE][ENFORCE_LABEL] == "deny"


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_entry_calls_a_path_that_is_served(variant: str) -> None:
    called = {
        entry["name"].removesuffix(".custom-scheduler.io"): path_called(entry) for entry in entries(variant)
    }

    assert called == {
        "deny.pods": "/validate",
        "warn.pods": "/validate/warn",
        "deny.workloads": "/validate",
        "warn.workloads": "/validate/warn",
        "verify.pods": "/verify",
        "verify.namespaces": "/verify",
        "mutate.pods": "/mutate",
        "mutate.namespaces": "/mutate/namespace",
    }
    assert set(called.values()) <= set(DECISIONS)


@pytest.mark.parametrize("variant", VARIANTS)
def test_rules_name_their_resources_and_no_subresource(variant: str) -> None:
    for entry in entries(variant):
        for rule in entry["rules"]:
            asked = [*rule["apiGroups"], *rule["apiVersions"], *rule["resources"], *rule["operations"]]
            assert not [word for word in asked if "*" in word or "/" in word]


def test_mutators_see_creations_only_and_may_be_reinvoked() -> None:
    (configuration,) = of_kind("base", "MutatingWebhookConfiguration")
    for entry in configuration["webhooks"]:
        assert entry["reinvocationPolicy"] == "IfNeeded"
        assert [rule["operations"] for rule in entry["rules"]] == [["CREATE"]]


def test_no_label_on_a_pod_takes_it_out_of_enforcement() -> None:
    enforcing = [entry for entry in entries("base") if entry["name"].startswith(("deny.", "warn."))]

    assert len(enforcing) == 4
    assert not [entry["name"] for entry in enforcing if "objectSelector" in entry]


def test_no_role_holds_a_wildcard_or_reads_secrets_at_large() -> None:
    for role in of_kind("base", "Role", "ClusterRole"):
        for rule in role["rules"]:
            assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
            if "secrets" in rule["resources"] and rule["verbs"] != ["create"]:
                assert rule["resourceNames"] == ["custom-scheduler-ca"]


def test_the_webhook_may_not_touch_pods_and_the_binder_may_not_touch_secrets() -> None:
    reach = {
        role["metadata"]["name"]: {resource for rule in role["rules"] for resource in rule["resources"]}
        for role in of_kind("base", "ClusterRole")
    }

    assert "pods" not in reach["custom-scheduler"]
    assert "secrets" not in reach["custom-scheduler-binder"]


def test_our_pods_are_restricted_and_carry_the_label_we_ask_for() -> None:
    for deployment in of_kind("base", "Deployment"):
        template = deployment["spec"]["template"]
        (container,) = template["spec"]["containers"]
        assert template["metadata"]["labels"]["custom"]
        assert template["spec"]["enableServiceLinks"] is False
        assert template["spec"]["securityContext"]["runAsNonRoot"] is True
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert "cpu" not in container["resources"]["limits"]


def webhook_pod(variant: str) -> dict[str, Any]:
    (webhook,) = [d for d in of_kind(variant, "Deployment") if d["metadata"]["name"] == "custom-scheduler"]
    pod: dict[str, Any] = webhook["spec"]["template"]["spec"]
    return pod


@pytest.mark.parametrize("variant", RUNNING)
def test_a_pod_has_the_time_for_its_whole_stop(variant: str) -> None:
    pod = webhook_pod(variant)
    (container,) = pod["containers"]
    options = ServingOptions()
    pre_stop = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    stop = pre_stop + options.drain_seconds + options.graceful_seconds + 1

    # Nothing else says how long the drain is: the arithmetic is about the default.
    assert not [each for each in container["args"] if each.startswith("--drain-seconds")]
    assert pod["terminationGracePeriodSeconds"] >= stop + 5


@pytest.mark.parametrize("variant", RUNNING)
def test_readiness_fails_early_enough_in_a_drain_for_the_endpoints_to_follow(variant: str) -> None:
    (container,) = webhook_pod(variant)["containers"]
    probe = container["readinessProbe"]
    # A drain is answered at once, so that the probe's timeout does not count.
    until_unready = probe["periodSeconds"] * probe["failureThreshold"]

    # What is left is what the endpoints, and those who follow them, may take.
    assert ServingOptions().drain_seconds - until_unready >= 5


@pytest.mark.parametrize("variant", RUNNING)
def test_replicas_that_are_slow_together_stay_ready_for_longer_than_a_call_may_take(variant: str) -> None:
    (container,) = webhook_pod(variant)["containers"]

    assert container["readinessProbe"]["timeoutSeconds"] > 2 * max(
        entry["timeoutSeconds"] for entry in entries(variant)
    )


def test_a_rollout_takes_no_replica_away_before_another_is_ready() -> None:
    (webhook,) = [d for d in of_kind("base", "Deployment") if d["metadata"]["name"] == "custom-scheduler"]

    assert webhook["spec"]["replicas"] >= 2
    assert webhook["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


def test_the_shipped_policy_and_scheduler_configuration_are_valid() -> None:
    assert load_policy(MANIFESTS / "base/policy.yaml", own_namespace="custom-scheduler").name == "default"
    assert load_configuration(MANIFESTS / "base/scheduler.yaml").profiles


def test_the_single_overlay_runs_the_binder_thread_with_the_webhooks_own_account() -> None:
    (deployment,) = of_kind("overlays/single", "Deployment")
    bindings = of_kind("overlays/single", "RoleBinding", "ClusterRoleBinding")

    assert "--binder" in deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert {subject["name"] for binding in bindings for subject in binding["subjects"]} == {
        "custom-scheduler"
    }
