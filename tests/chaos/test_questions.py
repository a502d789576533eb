"""Whatever else than the one right answer the API server gives is a fault."""

from __future__ import annotations

from typing import Any

import pytest

from devcluster.errors import RequestError
from tests.chaos.questions import Questions

DENIED, ADMITTED, STEERED = range(3)
_SAYS_NO = 'POST x: 403: admission webhook "deny.pods.custom-scheduler.io" denied the request: '


class Scripted:
    def __init__(self, answer: str | RequestError) -> None:
        self._answer = answer
        self.asked: Any = None

    def request(self, method: str, path: str, body: object = None, *, timeout: float = 30) -> Any:
        self.asked = body
        if isinstance(self._answer, RequestError):
            raise self._answer
        return {"spec": {"schedulerName": self._answer}}


def refused(text: str, status: int = 403) -> RequestError:
    return RequestError(text, status=status)


@pytest.mark.parametrize(
    ("number", "answer", "text"),
    [
        (DENIED, refused(_SAYS_NO + "Pod must have custom label: add it"), "Pod must have custom label"),
        (
            DENIED,
            refused(_SAYS_NO + "Pod must have custom label (7): add it"),
            "Pod must have custom label (7)",
        ),
        (ADMITTED, "default-scheduler", "default-scheduler"),
        (STEERED, "custom-scheduler", "custom-scheduler"),
    ],
)
def test_the_right_answer_is_no_fault(number: int, answer: str | RequestError, text: str) -> None:
    got = Questions(Scripted(answer))(number)

    assert (got.fault, got.text) == ("", text)


@pytest.mark.parametrize(
    ("number", "answer"),
    [
        (DENIED, "default-scheduler"),
        (DENIED, refused(_SAYS_NO + "something else")),
        (DENIED, refused("POST x: 403: pods is forbidden: Pod must have custom label")),
        (DENIED, refused('POST x: 500: failed calling webhook "deny.pods.custom-scheduler.io"', 500)),
        (ADMITTED, refused(_SAYS_NO + "Pod must have custom label")),
        (ADMITTED, "custom-scheduler"),
        (STEERED, "default-scheduler"),
        (STEERED, refused("POST x: 500: failed calling webhook", 500)),
    ],
)
def test_any_other_answer_is_a_fault(number: int, answer: str | RequestError) -> None:
    assert Questions(Scripted(answer))(number).fault


def test_only_the_pods_that_opted_in_carry_the_label_for_it() -> None:
    labels = []
    for number in (DENIED, ADMITTED, STEERED):
        client = Scripted("any")
        Questions(client)(number)
        labels.append(set(client.asked["metadata"]["labels"]))

    assert labels == [set(), {"custom"}, {"custom", "custom-scheduler.io/opt-in"}]
