from __future__ import annotations

from collections.abc import Mapping

import pytest

from devcluster.errors import PodError
from devcluster.kubelet.environment import environment, expanded
from tests.devcluster.kubelet.pods import API_SERVER, pod


def variables(*env: Mapping[str, object], image: dict[str, str] | None = None) -> dict[str, str]:
    container = {"env": list(env)}
    return environment(pod(container=container), container, image=image or {}, api_server=API_SERVER)


def test_a_pod_finds_the_api_server() -> None:
    found = variables()

    assert (found["KUBERNETES_SERVICE_HOST"], found["KUBERNETES_SERVICE_PORT"]) == ("10.96.0.1", "6443")


def test_the_container_has_the_last_word_over_the_image() -> None:
    assert variables({"name": "A", "value": "pod"}, image={"A": "image", "B": "image"}).items() >= {
        ("A", "pod"),
        ("B", "image"),
    }


def test_fields_of_the_pod_can_be_told() -> None:
    field = {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}

    assert variables(field)["IP"] == "10.42.1.2"


@pytest.mark.parametrize("source", [{"secretKeyRef": {}}, {"fieldRef": {"fieldPath": "metadata.labels"}}])
def test_what_is_not_known_is_refused(source: dict[str, object]) -> None:
    with pytest.raises(PodError, match="the process kubelet"):
        variables({"name": "A", "valueFrom": source})


@pytest.mark.parametrize(
    ("text", "value"),
    [("$(A)/b", "x/b"), ("$(B)", "$(B)"), ("$$(A)", "$(A)"), ("$A", "$A"), ("$(A)$(A)", "xx")],
)
def test_references_are_expanded_where_they_are_known(text: str, value: str) -> None:
    assert expanded(text, {"A": "x"}) == value
