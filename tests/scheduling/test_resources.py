from __future__ import annotations

from typing import Any

import msgspec

from webhook.scheduling.objects import Pod
from webhook.scheduling.resources import (
    balancing_requests,
    incoming_requests,
    is_scalar,
    placed_requests,
    scoring_requests,
)

MI = 1024 * 1024


def pod(spec: dict[str, Any], status: dict[str, Any] | None = None) -> Pod:
    return msgspec.convert({"spec": spec, "status": status or {}}, Pod)


def container(name: str = "app", **requests: str) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": requests}}


def sidecar(name: str, **requests: str) -> dict[str, Any]:
    return {**container(name, **requests), "restartPolicy": "Always"}


def test_containers_add_up() -> None:
    subject = pod({"containers": [container(cpu="1", memory="1Mi"), container("b", cpu="500m")]})

    assert incoming_requests(subject) == {"cpu": 1500, "memory": MI}


def test_fractions_are_summed_before_they_are_rounded() -> None:
    subject = pod({"containers": [container(cpu="500u"), container("b", cpu="500u")]})

    assert incoming_requests(subject) == {"cpu": 1}


def test_init_containers_run_one_by_one_so_the_largest_counts() -> None:
    subject = pod(
        {
            "initContainers": [container("i1", cpu="2"), container("i2", cpu="3", memory="5Mi")],
            "containers": [container(cpu="1"), container("b", cpu="1", memory="9Mi")],
        }
    )

    assert incoming_requests(subject) == {"cpu": 3000, "memory": 9 * MI}


def test_a_sidecar_runs_beside_the_containers_and_beside_later_init_containers() -> None:
    subject = pod(
        {
            "initContainers": [sidecar("side", cpu="1"), container("init", cpu="2")],
            "containers": [container(cpu="1")],
        }
    )

    assert incoming_requests(subject) == {"cpu": 3000}


def test_a_sidecar_does_not_run_beside_earlier_init_containers() -> None:
    subject = pod(
        {
            "initContainers": [container("init", cpu="2"), sidecar("side", cpu="1")],
            "containers": [container(cpu="500m")],
        }
    )

    assert incoming_requests(subject) == {"cpu": 2000}


def test_overhead_comes_on_top() -> None:
    subject = pod(
        {
            "initContainers": [sidecar("side", cpu="1"), container("init", cpu="2")],
            "containers": [container(cpu="1")],
            "overhead": {"cpu": "250m", "memory": "1Mi"},
        }
    )

    assert incoming_requests(subject) == {"cpu": 3250, "memory": MI}


def test_pod_level_requests_replace_those_they_name_and_overhead_still_counts() -> None:
    subject = pod(
        {
            "containers": [container(cpu="1", memory="1Mi", **{"example.com/gpu": "1"})],
            "resources": {"requests": {"cpu": "3", "example.com/gpu": "7"}},
            "overhead": {"cpu": "250m"},
        }
    )

    assert incoming_requests(subject) == {"cpu": 3250, "memory": MI, "example.com/gpu": 1}


def test_the_fit_scorer_leaves_pod_level_requests_out_and_fills_in_defaults() -> None:
    subject = pod(
        {"containers": [container(), container("b", cpu="0")], "resources": {"requests": {"cpu": "3"}}}
    )

    assert scoring_requests(subject) == {"cpu": 100, "memory": 400 * MI}
    assert balancing_requests(subject) == {"cpu": 3000}


def test_a_placed_pod_without_requests_counts_nothing_but_scores_with_defaults() -> None:
    placed = placed_requests(pod({"containers": [container(), container("b", memory="1Mi")]}))

    assert placed.amounts == {"memory": MI}
    assert placed.nonzero_cpu == 200
    assert placed.nonzero_memory == 201 * MI


def test_with_pod_level_requests_only_what_nobody_requests_gets_a_default() -> None:
    placed = placed_requests(
        pod({"containers": [container(cpu="1")], "resources": {"requests": {"cpu": "2"}}})
    )

    assert (placed.nonzero_cpu, placed.nonzero_memory) == (2000, 200 * MI)


def resized(spec: str, status: dict[str, Any], *conditions: dict[str, str]) -> Pod:
    return pod(
        {"containers": [container(cpu=spec)]},
        {"containerStatuses": [{"name": "app", **status}], "conditions": list(conditions)},
    )


def test_growing_in_place_counts_the_new_size_at_once() -> None:
    subject = resized("2", {"allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}})

    assert placed_requests(subject).amounts == {"cpu": 2000}


def test_shrinking_in_place_counts_the_old_size_until_it_is_done() -> None:
    subject = resized("1", {"allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "2"}}})

    assert placed_requests(subject).amounts == {"cpu": 2000}


def test_a_resize_that_the_node_can_never_grant_does_not_count() -> None:
    infeasible = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
    subject = resized(
        "9", {"allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}, infeasible
    )

    assert placed_requests(subject).amounts == {"cpu": 1000}


def test_a_deferred_resize_counts() -> None:
    deferred = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}
    subject = resized(
        "9", {"allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}, deferred
    )

    assert placed_requests(subject).amounts == {"cpu": 9000}


def test_the_status_of_a_sidecar_counts_too() -> None:
    subject = pod(
        {"initContainers": [sidecar("side", cpu="1")], "containers": [container(cpu="1")]},
        {"initContainerStatuses": [{"name": "side", "allocatedResources": {"cpu": "3"}}]},
    )

    assert placed_requests(subject).amounts == {"cpu": 4000}


def test_pod_level_resize_counts_the_largest_of_spec_allocated_and_actual() -> None:
    subject = pod(
        {"containers": [container(cpu="1")], "resources": {"requests": {"cpu": "2"}}},
        {"allocatedResources": {"cpu": "3"}, "resources": {"requests": {"cpu": "4"}}},
    )

    assert placed_requests(subject).amounts == {"cpu": 4000}


def test_names_that_no_node_accounts_for_are_dropped() -> None:
    subject = pod({"containers": [container(cpu="1", pods="5", weird="2", **{"hugepages-2Mi": "4Mi"})]})

    assert incoming_requests(subject) == {"cpu": 1000, "hugepages-2Mi": 4 * MI}


def test_scalar_resources_are_those_with_a_domain_or_a_known_prefix() -> None:
    assert is_scalar("example.com/gpu")
    assert is_scalar("attachable-volumes-csi")
    assert not is_scalar("cpu")
