"""What an API server may say beside the object: how long it waits, and that nothing is to be kept.

Neither changes an answer: a decision asks nobody and keeps nothing, so there is nothing to cut short or to leave out.
"""

from __future__ import annotations

import functools
import json
import time

import pytest
from flask.testing import FlaskClient

from tests.admission.reviews import body, pod
from webhook.policy.model import Policy, RequiredLabel
from webhook.policy.pattern import Pattern
from webhook.server.app import DECISIONS, create_app

# The least that a webhook's timeoutSeconds can be, and so the least that ?timeout= can say.
SHORTEST_TIMEOUT_SECONDS = 1.0
# The largest object that an API server takes: k8s.io/apiserver pkg/server/config.go, MaxRequestBodyBytes.
LARGEST_OBJECT_BYTES = 3 << 20
# Exponential for a matcher that backtracks.
POLICY = Policy(
    name="default",
    required_labels=(RequiredLabel(key="custom"), RequiredLabel(key="size", pattern=Pattern("(a|aa)*b"))),
)
OPTED_IN = {"custom-scheduler.io/opt-in": "true"}


@pytest.fixture
def client() -> FlaskClient:
    return create_app(lambda: POLICY).test_client()


def answer(client: FlaskClient, url: str, review: bytes) -> bytes:
    response = client.post(url, data=review, content_type="application/json")
    assert response.status_code == 200
    return response.get_data()


@pytest.mark.parametrize("path", DECISIONS)
@pytest.mark.parametrize("timeout", ["2s", "1s", "30s", "0s", "", "soon"])
def test_the_time_that_is_left_changes_no_answer(client: FlaskClient, path: str, timeout: str) -> None:
    review = body(pod(OPTED_IN))

    assert answer(client, f"{path}?timeout={timeout}", review) == answer(client, path, review)


@pytest.mark.parametrize("path", DECISIONS)
@pytest.mark.parametrize("dry_run", [True, False, None])
def test_a_dry_run_gets_the_answer_of_the_real_one(
    client: FlaskClient, path: str, dry_run: bool | None
) -> None:
    dry = answer(client, path, body(pod(OPTED_IN), dryRun=dry_run))

    assert dry == answer(client, path, body(pod(OPTED_IN)))


@functools.cache
def large(key: str) -> bytes:
    """A review of as large a pod as there can be, most of it in one place."""
    room = LARGEST_OBJECT_BYTES - 4096
    match key:
        case "value":
            return body(pod({"size": "a" * room}))
        case "labels":
            return body(pod({f"l{number}": "" for number in range(room // 16)}))
        case "env":
            variables = [{"name": f"E{number:06}", "value": "v" * 20} for number in range(room // 54)]
            return body(pod(OPTED_IN, spec={"containers": [{"name": "c", "env": variables}]}))
        case _:
            terms = [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}] * (room // 67)
            required = {"nodeSelectorTerms": terms}
            affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
            return body(pod(OPTED_IN, spec={"affinity": affinity}))


@pytest.mark.parametrize("path", ["/validate", "/mutate"])
@pytest.mark.parametrize("where", ["value", "labels", "env", "terms"])
def test_the_largest_pods_are_decided_within_the_shortest_time(
    client: FlaskClient, path: str, where: str
) -> None:
    review = large(where)
    assert LARGEST_OBJECT_BYTES * 0.8 < len(review) <= LARGEST_OBJECT_BYTES

    started = time.process_time()
    decided = answer(client, path, review)
    took = time.process_time() - started

    assert json.loads(decided)["response"]["uid"]
    assert took < SHORTEST_TIMEOUT_SECONDS
