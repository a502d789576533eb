from __future__ import annotations

from typing import Any

import pytest

from tests.admission.nodematch import PREFERRED, REQUIRED
from tests.admission.reviews import (
    DAEMON_SET_CONTROLLER,
    NODE,
    OPTED_IN,
    REPLICA_SET,
    Json,
    operations,
    patched,
    pod,
    review,
)
from webhook.admission.mutate import OptedInBy, mutate
from webhook.admission.review import Review
from webhook.admission.verdict import Verdict
from webhook.policy.model import (
    NodeAffinity,
    NodeSelectorRequirement,
    Placement,
    Policy,
    PreferredRequirement,
    Toleration,
)

POLICY = Policy(name="default")
CUSTOM = {"key": "custom", "operator": "Exists"}
PLACED_BY = "custom-scheduler.io/placed-by"

SSD = NodeSelectorRequirement(key="disk", operator="In", values=("ssd", "nvme"))
RICH = Policy(
    name="rich",
    placement=Placement(
        scheduler_name="batch",
        node_affinity=NodeAffinity(
            required=(NodeSelectorRequirement(key="custom", operator="Exists"), SSD),
            preferred=(PreferredRequirement(weight=10, key="zone", operator="In", values=("a",)),),
        ),
        tolerations=(
            Toleration(key="dedicated", value="batch", effect="NoSchedule"),
            Toleration(operator="Exists", effect="NoExecute", toleration_seconds=60),
        ),
    ),
)


def steer(asked: Review, policy: Policy = POLICY, opted_in_by: OptedInBy = "pod") -> Verdict:
    return mutate(asked, policy, opted_in_by=opted_in_by)


def after(obj: Json, policy: Policy = POLICY, **request: Any) -> Json:
    """The pod as the API server has it after our patch; a second pass must find nothing to do."""
    asked = review(obj, **request)
    steered = patched(obj, asked, steer(asked, policy))
    again = review(steered, **request)
    assert operations(again, steer(again, policy)) == []
    return steered


def patch_of(obj: Json, policy: Policy = POLICY, **request: Any) -> list[Json]:
    asked = review(obj, **request)
    return operations(asked, steer(asked, policy))


def with_terms(*terms: Json) -> Json:
    return pod(OPTED_IN, spec={"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}})


def terms_of(obj: Json) -> list[Json]:
    terms: list[Json] = obj["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    return terms


def test_opted_in_pod_gets_scheduler_affinity_and_annotation_and_nothing_else() -> None:
    obj = pod(OPTED_IN, annotations={"a": "b"})

    assert patch_of(obj) == [
        {"op": "add", "path": "/spec/schedulerName", "value": "custom-scheduler"},
        {
            "op": "add",
            "path": "/spec/affinity",
            "value": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [CUSTOM]}]}}},
        },
        {"op": "add", "path": "/metadata/annotations/custom-scheduler.io~1placed-by", "value": "default"},
    ]
    assert after(obj)["metadata"]["annotations"] == {"a": "b", PLACED_BY: "default"}


def test_fields_newer_than_us_survive() -> None:
    obj = pod(OPTED_IN, spec={"futureField": {"a": 1}, "affinity": {"futureAffinity": {"b": [2]}}})

    spec = after(obj)["spec"]

    assert spec["futureField"] == {"a": 1}
    assert spec["affinity"]["futureAffinity"] == {"b": [2]}


def test_everything_that_a_policy_may_add_is_added() -> None:
    assert after(pod(OPTED_IN), RICH)["spec"] == {
        "containers": [{"name": "c", "image": "nginx"}],
        "schedulerName": "batch",
        "affinity": {
            "nodeAffinity": {
                REQUIRED: {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                CUSTOM,
                                {"key": "disk", "operator": "In", "values": ["ssd", "nvme"]},
                            ]
                        }
                    ]
                },
                PREFERRED: [
                    {
                        "weight": 10,
                        "preference": {
                            "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]
                        },
                    }
                ],
            }
        },
        "tolerations": [
            {"key": "dedicated", "value": "batch", "effect": "NoSchedule"},
            {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
        ],
    }


def test_policy_that_adds_nothing_sets_the_name_alone() -> None:
    bare = Policy(name="bare", placement=Placement(node_affinity=NodeAffinity(required=())))

    assert [operation["path"] for operation in patch_of(pod(OPTED_IN), bare)] == [
        "/spec/schedulerName",
        "/metadata/annotations",
    ]


@pytest.mark.parametrize(
    "annotations", [{}, {"annotations": None}, {"annotations": {}}, {"annotations": {"a": "b"}}]
)
def test_annotations_are_kept_and_made_where_absent(annotations: Json) -> None:
    obj = pod(OPTED_IN, **annotations)

    expected = {**(annotations.get("annotations") or {}), PLACED_BY: "default"}
    assert after(obj)["metadata"]["annotations"] == expected


def test_annotation_of_another_policy_is_replaced() -> None:
    assert after(pod(OPTED_IN, annotations={PLACED_BY: "forged"}))["metadata"]["annotations"] == {
        PLACED_BY: "default"
    }


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"affinity": None},
        {"affinity": {}},
        {"affinity": {"podAffinity": {"x": 1}}},
        {"affinity": {"nodeAffinity": None}},
        {"affinity": {"nodeAffinity": {}}},
        {"affinity": {"nodeAffinity": {REQUIRED: None}}},
        {"affinity": {"nodeAffinity": {PREFERRED: []}}},
    ],
)
def test_absent_and_null_parents_are_made(spec: Json) -> None:
    steered = after(pod(OPTED_IN, spec=spec))

    assert terms_of(steered) == [{"matchExpressions": [CUSTOM]}]
    assert ("podAffinity" in steered["spec"]["affinity"]) == ("podAffinity" in (spec.get("affinity") or {}))


@pytest.mark.parametrize("labels", [{}, {"labels": None}, {"labels": {}}])
def test_pod_without_labels_is_steered_when_its_namespace_opted_in(labels: Json) -> None:
    obj = {"kind": "Pod", "metadata": {"name": "a", **labels}, "spec": {}}
    asked = review(obj)

    steered = patched(obj, asked, steer(asked, opted_in_by="namespace"))

    assert steered["spec"]["schedulerName"] == "custom-scheduler"
    assert steered["metadata"].get("labels") == labels.get("labels")


def test_requirement_is_anded_into_every_term() -> None:
    zone_a = {"key": "zone", "operator": "In", "values": ["a"]}
    zone_b = {"key": "zone", "operator": "In", "values": ["b"]}
    obj = with_terms({"matchExpressions": [zone_a]}, {"matchExpressions": [zone_b]})

    assert [operation["path"].rpartition("/nodeSelectorTerms")[2] for operation in patch_of(obj)[1:3]] == [
        "/0/matchExpressions/-",
        "/1/matchExpressions/-",
    ]
    assert terms_of(after(obj)) == [
        {"matchExpressions": [zone_a, CUSTOM]},
        {"matchExpressions": [zone_b, CUSTOM]},
    ]


def test_requirement_that_is_there_is_not_repeated() -> None:
    disk = {"key": "disk", "operator": "In", "values": ["nvme", "ssd"]}
    obj = with_terms({"matchExpressions": [disk]}, {"matchExpressions": [CUSTOM, disk]})

    assert terms_of(after(obj, RICH)) == [
        {"matchExpressions": [disk, CUSTOM]},
        {"matchExpressions": [CUSTOM, disk]},
    ]


@pytest.mark.parametrize(
    "near",
    [
        {"key": "custom", "operator": "DoesNotExist"},
        {"key": "custom", "operator": "In", "values": ["a"]},
        {"key": "customs", "operator": "Exists"},
        {"key": "custom", "operator": "Exists", "values": ["a"]},
    ],
)
def test_requirement_that_only_looks_alike_does_not_stand_in(near: Json) -> None:
    assert terms_of(after(with_terms({"matchExpressions": [near]}))) == [{"matchExpressions": [near, CUSTOM]}]


@pytest.mark.parametrize("expressions", [{}, {"matchExpressions": None}, {"matchExpressions": []}])
def test_match_fields_are_kept_beside_the_requirement(expressions: Json) -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]

    assert terms_of(after(with_terms({"matchFields": fields, **expressions}))) == [
        {"matchFields": fields, "matchExpressions": [CUSTOM]}
    ]


@pytest.mark.parametrize(
    "empty",
    [{}, {"matchExpressions": None}, {"matchExpressions": []}, {"matchFields": [], "matchExpressions": []}],
)
def test_empty_term_goes_on_matching_nothing(empty: Json) -> None:
    zone = {"key": "zone", "operator": "Exists"}

    assert terms_of(after(with_terms(empty))) == [empty]
    assert terms_of(after(with_terms(empty, {"matchExpressions": [zone]}))) == [
        empty,
        {"matchExpressions": [zone, CUSTOM]},
    ]


@pytest.mark.parametrize("required", [{}, {"nodeSelectorTerms": None}, {"nodeSelectorTerms": []}])
def test_selector_without_terms_is_left_for_the_api_server_to_refuse(required: Json) -> None:
    obj = pod(OPTED_IN, spec={"affinity": {"nodeAffinity": {REQUIRED: required}}})

    assert after(obj)["spec"]["affinity"] == {"nodeAffinity": {REQUIRED: required}}


def test_preferred_terms_are_appended_once_and_the_pod_s_own_are_kept() -> None:
    own = {
        "weight": 10,
        "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]},
    }
    ours = {
        "weight": 10,
        "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]},
    }
    obj = pod(OPTED_IN, spec={"affinity": {"nodeAffinity": {PREFERRED: [own]}}})

    steered = after(obj, RICH)

    assert steered["spec"]["affinity"]["nodeAffinity"][PREFERRED] == [own, ours]


@pytest.mark.parametrize(
    "near",
    [
        {
            "weight": 11,
            "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]},
        },
        {"weight": 10, "preference": {}},
        {"weight": 10, "preference": None},
        {
            "weight": 10,
            "preference": {"matchExpressions": [CUSTOM, {"key": "zone", "operator": "In", "values": ["a"]}]},
        },
        {
            "weight": 10,
            "preference": {
                "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}],
                "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}],
            },
        },
    ],
)
def test_preferred_term_that_only_looks_alike_does_not_stand_in(near: Json) -> None:
    obj = pod(OPTED_IN, spec={"affinity": {"nodeAffinity": {PREFERRED: [near]}}})

    assert len(after(obj, RICH)["spec"]["affinity"]["nodeAffinity"][PREFERRED]) == 2


@pytest.mark.parametrize("tolerations", [{}, {"tolerations": None}, {"tolerations": []}])
def test_tolerations_are_added(tolerations: Json) -> None:
    assert len(after(pod(OPTED_IN, spec=tolerations), RICH)["spec"]["tolerations"]) == 2


def test_toleration_that_is_there_is_not_repeated() -> None:
    own = [
        {"key": "x", "operator": "Exists"},
        {"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"},
    ]

    steered = after(pod(OPTED_IN, spec={"tolerations": own}), RICH)

    assert steered["spec"]["tolerations"] == [
        *own,
        {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
    ]


@pytest.mark.parametrize(
    "name", [{"schedulerName": ""}, {"schedulerName": None}, {"schedulerName": "default-scheduler"}]
)
def test_unset_and_default_name_are_replaced(name: Json) -> None:
    assert after(pod(OPTED_IN, spec=name))["spec"]["schedulerName"] == "custom-scheduler"


def test_absent_name_is_set() -> None:
    obj = pod(OPTED_IN)
    del obj["spec"]["schedulerName"]

    assert after(obj)["spec"]["schedulerName"] == "custom-scheduler"


def test_pod_that_names_us_itself_gets_the_rest() -> None:
    paths = [
        operation["path"] for operation in patch_of(pod(OPTED_IN, spec={"schedulerName": "custom-scheduler"}))
    ]

    assert paths == ["/spec/affinity", "/metadata/annotations"]


def test_other_scheduler_is_respected() -> None:
    assert patch_of(pod(OPTED_IN, spec={"schedulerName": "volcano"})) == []


def test_other_scheduler_is_overridden() -> None:
    policy = Policy(name="default", placement=Placement(other_scheduler="Override"))

    assert (
        after(pod(OPTED_IN, spec={"schedulerName": "volcano"}), policy)["spec"]["schedulerName"]
        == "custom-scheduler"
    )


def test_other_scheduler_is_denied() -> None:
    policy = Policy(name="default", placement=Placement(other_scheduler="Deny"))
    asked = review(pod(OPTED_IN, spec={"schedulerName": "volcano"}, ownerReferences=[REPLICA_SET]))

    verdict = steer(asked, policy)

    assert verdict.outcome == "deny"
    assert verdict.message == (
        'Pod opted in but names another scheduler: spec.schedulerName is "volcano". Allowed: custom-scheduler. '
        "Remove spec.schedulerName from the pod template behind ReplicaSet web-5d4, "
        'or label it custom-scheduler.io/opt-in: "false"'
    )
    assert verdict.rule == "spec.placement.otherScheduler"
    assert operations(asked, verdict) == []


@pytest.mark.parametrize("name", ["", "default-scheduler", "custom-scheduler"])
def test_deny_of_other_schedulers_spares_unset_and_ours(name: str) -> None:
    policy = Policy(name="default", placement=Placement(other_scheduler="Deny"))

    assert steer(review(pod(OPTED_IN, spec={"schedulerName": name})), policy).outcome == "mutate"


@pytest.mark.parametrize(
    ("label", "by_pod", "by_namespace"),
    [
        (None, False, True),
        ("true", True, True),
        ("false", False, False),
        ("yes", False, True),
        ("", False, True),
    ],
)
def test_own_label_beats_the_namespace_and_only_true_opts_in(
    label: str | None, by_pod: bool, by_namespace: bool
) -> None:
    asked = review(pod({} if label is None else {"custom-scheduler.io/opt-in": label}))

    assert bool(steer(asked, opted_in_by="pod").patch) == by_pod
    assert bool(steer(asked, opted_in_by="namespace").patch) == by_namespace


@pytest.mark.parametrize(
    ("obj", "request_of"),
    [
        (pod(OPTED_IN, spec={"nodeName": "n1"}), {}),
        (pod(OPTED_IN, annotations={"kubernetes.io/config.mirror": "x"}), {"userInfo": NODE}),
        (pod(OPTED_IN, annotations={"kubernetes.io/config.mirror": "x"}), {}),
        (pod(OPTED_IN), {"userInfo": DAEMON_SET_CONTROLLER}),
        (
            pod(OPTED_IN, ownerReferences=[{"kind": "DaemonSet", "name": "d", "controller": True}]),
            {"userInfo": {"username": "system:kube-controller-manager"}},
        ),
        (pod(OPTED_IN), {"operation": "UPDATE", "oldObject": pod(OPTED_IN)}),
        ({"kind": "Pod", "metadata": {"labels": OPTED_IN}}, {}),
        ({"kind": "Pod", "metadata": {"labels": OPTED_IN}, "spec": None}, {}),
    ],
)
def test_pod_that_nobody_can_steer_is_left_alone(obj: Json, request_of: Json) -> None:
    assert patch_of(obj, **request_of) == []


def test_pod_without_metadata_is_left_alone() -> None:
    asked = review({"kind": "Pod", "spec": {}})

    assert steer(asked, opted_in_by="namespace") == Verdict(policy="default")


def test_forged_daemon_set_owner_is_no_way_out() -> None:
    forged = pod(OPTED_IN, ownerReferences=[{"kind": "DaemonSet", "name": "d", "controller": True}])

    assert after(forged)["spec"]["schedulerName"] == "custom-scheduler"


def test_other_pods_of_the_controller_manager_are_steered() -> None:
    owned = pod(OPTED_IN, ownerReferences=[REPLICA_SET])

    assert after(owned, userInfo={"username": "system:kube-controller-manager"})["spec"]["schedulerName"]
    assert patch_of(owned, userInfo={"username": "system:kube-controller-manager"})


def test_gated_pod_is_steered() -> None:
    assert (
        after(pod(OPTED_IN, spec={"schedulingGates": [{"name": "x"}]}))["spec"]["schedulerName"]
        == "custom-scheduler"
    )


def test_other_mutators_that_undo_a_part_get_only_that_part_back() -> None:
    steered = after(pod(OPTED_IN), RICH)
    steered["spec"]["tolerations"].pop(0)
    terms_of(steered)[0]["matchExpressions"].pop(0)

    assert [operation["value"] for operation in patch_of(steered, RICH)] == [
        CUSTOM,
        {"key": "dedicated", "value": "batch", "effect": "NoSchedule"},
    ]


def test_patch_touches_only_what_is_ours_to_set() -> None:
    allowed = ("/spec/schedulerName", "/spec/affinity", "/spec/tolerations", "/metadata/annotations")

    paths = [operation["path"] for operation in patch_of(with_terms({"matchExpressions": [CUSTOM]}), RICH)]

    assert [path for path in paths if not path.startswith(allowed)] == []
