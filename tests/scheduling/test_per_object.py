from __future__ import annotations

from webhook.scheduling.objects import Pod
from webhook.scheduling.per_object import per_object
from webhook.scheduling.testing import make_pod


def test_a_pod_is_worked_out_once_and_others_by_themselves() -> None:
    asked: list[str] = []

    def name(pod: Pod) -> str:
        asked.append(pod.metadata.name)
        return pod.metadata.name

    remembered, one, other = per_object(name), make_pod("one"), make_pod("other")

    assert [remembered(pod) for pod in (one, other, one)] == ["one", "other", "one"]
    assert asked == ["one", "other"]


def test_of_many_pods_each_has_its_own_answer() -> None:
    def name(pod: Pod) -> str:
        return pod.metadata.name

    remembered = per_object(name)

    # Pods that are dropped at once have the ids of earlier ones.
    assert [remembered(make_pod(f"p{number}")) for number in range(2000)] == [f"p{n}" for n in range(2000)]
