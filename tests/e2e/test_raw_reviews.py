"""The webhook called as the API server calls it: AdmissionReviews over TLS, verified by the CA in the Secret."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from tests.admission.reviews import UID, body, pod

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def pool(cluster: DevCluster, installation: Installation) -> Iterator[urllib3.HTTPSConnectionPool]:
    secret = cluster.kubectl("get", "secret", "custom-scheduler-ca", "-n", "custom-scheduler", "-o", "json")
    ca = base64.b64decode(json.loads(secret.stdout)["data"]["ca.crt"]).decode()
    context = ssl.create_default_context(cadata=ca)
    with urllib3.HTTPSConnectionPool(
        "localhost", installation.port, ssl_context=context, retries=False, timeout=10
    ) as pool:
        yield pool


def response(pool: urllib3.HTTPSConnectionPool, path: str, sent: bytes) -> dict[str, Any]:
    answer = pool.request("POST", path, body=sent, headers=JSON)
    assert answer.status == 200
    decoded = answer.json()
    assert decoded["apiVersion"] == "admission.k8s.io/v1"
    assert decoded["response"]["uid"] == UID
    found: dict[str, Any] = decoded["response"]
    return found


@pytest.mark.parametrize("path", ["/validate", "/validate-admission"])
def test_a_denial_starts_with_the_rules_message(pool: urllib3.HTTPSConnectionPool, path: str) -> None:
    answer = response(pool, path, body(pod(None)))

    assert answer["allowed"] is False
    assert answer["status"]["code"] == 403
    assert answer["status"]["message"].startswith("Pod must have custom label")


def test_the_warning_path_turns_the_denial_into_a_warning(pool: urllib3.HTTPSConnectionPool) -> None:
    answer = response(pool, "/validate/warn", body(pod({})))

    assert answer["allowed"] is True
    assert answer["warnings"][0].startswith("Pod must have custom label")


def test_a_steering_patch_is_base64_json_patch(pool: urllib3.HTTPSConnectionPool) -> None:
    answer = response(pool, "/mutate", body(pod({"custom-scheduler.io/opt-in": "true"})))

    assert answer["patchType"] == "JSONPatch"
    operations = json.loads(base64.b64decode(answer["patch"]))
    assert {"op": "add", "path": "/spec/schedulerName", "value": "custom-scheduler"} in operations


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status"),
    [
        ("GET", "/validate", {}, None, 405),
        ("POST", "/validate", {"Content-Type": "text/plain"}, b"{}", 415),
        ("POST", "/validate", JSON, b"{", 400),
        (
            "POST",
            "/validate",
            JSON,
            b'{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}',
            400,
        ),
        ("POST", "/validate", JSON, b" " * (8 * 1024 * 1024 + 1), 413),
        ("POST", "/nowhere", JSON, b"{}", 404),
    ],
)
def test_what_is_no_review_is_refused_with_its_own_status(
    pool: urllib3.HTTPSConnectionPool,
    method: str,
    path: str,
    headers: dict[str, str],
    body: bytes | None,
    status: int,
) -> None:
    answer = pool.request(method, path, headers=headers, body=body)

    assert answer.status == status
    assert b"Traceback" not in answer.data


def test_a_chunked_body_over_the_limit_is_refused(pool: urllib3.HTTPSConnectionPool) -> None:
    chunks = (b" " * 65536 for _ in range(8 * 16 + 1))

    answer = pool.request("POST", "/validate", headers=JSON, body=chunks)

    assert answer.status == 413


def test_a_fault_in_a_review_is_named_by_its_json_path(pool: urllib3.HTTPSConnectionPool) -> None:
    answer = pool.request("POST", "/validate", headers=JSON, body=body(pod(None), userInfo={"username": 7}))

    assert answer.status == 400
    assert b"$.request.userInfo.username" in answer.data
