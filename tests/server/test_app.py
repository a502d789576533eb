"""The paths and their answers; what a decision says is tested with the decisions."""

from __future__ import annotations

import gzip
import io
import json
import logging
import ssl
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from gunicorn.http.errors import InvalidChunkSize, NoMoreData
from prometheus_client import REGISTRY

from tests.admission.reviews import UID, body, pod
from webhook.policy.parse import load_policy
from webhook.server import app as app_module
from webhook.server.app import DECISIONS, MAX_BODY_BYTES, create_app

POLICY = load_policy(
    Path(__file__).parents[2] / "manifests/base/policy.yaml", own_namespace="custom-scheduler"
)


@pytest.fixture
def client() -> FlaskClient:
    return create_app(lambda: POLICY).test_client()


def review(labels: dict[str, str] | None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body(pod(labels)))
    return found


def counted(webhook: str, operation: str, verdict: str) -> float:
    labels = {"webhook": webhook, "operation": operation, "verdict": verdict}
    return REGISTRY.get_sample_value("custom_scheduler_admission_requests_total", labels) or 0.0


@pytest.mark.parametrize("path", DECISIONS)
def test_every_path_echoes_the_uid_of_what_it_decides(client: FlaskClient, path: str) -> None:
    answer = client.post(path, json=review({"custom": "web"}))

    assert answer.status_code == 200
    assert answer.mimetype == "application/json"
    assert answer.get_json()["response"]["uid"] == UID


@pytest.mark.parametrize(
    ("path", "labels", "allowed"),
    [
        ("/validate", {}, False),
        ("/validate-admission", {}, False),
        ("/validate/warn", {}, True),
        ("/verify", {}, True),
        ("/mutate", {}, True),
        ("/mutate/namespace", {}, True),
    ],
)
def test_only_the_validating_path_denies_a_missing_label(
    client: FlaskClient, path: str, labels: dict[str, str], allowed: bool
) -> None:
    assert client.post(path, json=review(labels)).get_json()["response"]["allowed"] is allowed


def test_a_namespaces_opt_in_is_known_by_the_path(client: FlaskClient) -> None:
    by_pod = client.post("/mutate", json=review({})).get_json()["response"]
    by_namespace = client.post("/mutate/namespace", json=review({})).get_json()["response"]

    assert "patch" not in by_pod
    assert by_namespace["patchType"] == "JSONPatch"


def test_an_answer_is_counted_by_path_operation_and_verdict(client: FlaskClient) -> None:
    before = counted("/validate", "CREATE", "deny")

    client.post("/validate", json=review({}))

    assert counted("/validate", "CREATE", "deny") == before + 1


def test_a_body_that_is_no_review_is_counted_as_an_error(client: FlaskClient) -> None:
    before = counted("/validate", "", "error")

    answer = client.post("/validate", data=b"[", content_type="application/json")

    assert answer.status_code == 400
    assert counted("/validate", "", "error") == before + 1


@pytest.mark.parametrize(
    ("fault", "path"),
    [
        ({"apiVersion": "admission.k8s.io/v1beta1"}, "$.apiVersion"),
        ({"kind": "Review"}, "$.kind"),
        ({"request": None}, "$.request"),
    ],
)
def test_the_fault_of_a_review_is_named_by_its_path(
    client: FlaskClient, fault: dict[str, Any], path: str
) -> None:
    answer = client.post("/validate", json={**review({}), **fault})

    assert answer.status_code == 400
    assert path in answer.text


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
def test_a_wrong_method_is_405_and_says_which_is_right(client: FlaskClient, method: str) -> None:
    answer = client.open("/validate", method=method)

    assert answer.status_code == 405
    assert answer.headers["Allow"] == "POST"


@pytest.mark.parametrize(
    "content_type",
    ["", "text/plain", "application/yaml", "application/json-patch+json", "multipart/form-data; boundary=x"],
)
def test_a_wrong_content_type_is_415(client: FlaskClient, content_type: str) -> None:
    answer = client.post("/validate", data=body(pod({})), content_type=content_type)

    assert answer.status_code == 415
    assert answer.text.endswith("; send application/json\n")


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "Application/JSON",
        'application/json ; charset="us-ascii"',
    ],
)
def test_case_and_parameters_of_the_content_type_are_no_matter(
    client: FlaskClient, content_type: str
) -> None:
    answer = client.post("/validate", data=body(pod({})), content_type=content_type)

    assert answer.status_code == 200


def test_an_answer_is_the_same_to_a_request_that_is_out_of_the_ordinary(client: FlaskClient) -> None:
    ordinary, other = (
        client.post("/validate", data=body(pod({})), content_type=content_type)
        for content_type in ("application/json", "application/json; charset=utf-8")
    )

    assert (other.status, other.data, other.headers) == (ordinary.status, ordinary.data, ordinary.headers)


def test_a_body_in_another_charset_is_no_json(client: FlaskClient) -> None:
    sent = json.dumps(review({"custom": "caf\xe9"}), ensure_ascii=False).encode("latin-1")

    answer = client.post("/validate", data=sent, content_type="application/json; charset=latin-1")

    assert (answer.status_code, answer.text.count("\n")) == (400, 1)


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "br", "zstd", "identity, gzip", "unheard-of"])
def test_an_encoded_body_is_415_and_its_coding_is_named(client: FlaskClient, coding: str) -> None:
    answer = client.post(
        "/validate",
        data=gzip.compress(body(pod({}))),
        content_type="application/json",
        headers={"Content-Encoding": coding},
    )

    assert answer.status_code == 415
    assert answer.text == f"Content-Encoding is {coding}; send the body as it is, without one\n"
    assert answer.headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("coding", ["identity", "Identity", ""])
def test_no_encoding_may_be_said(client: FlaskClient, coding: str) -> None:
    answer = client.post("/validate", json=review({}), headers={"Content-Encoding": coding})

    assert answer.status_code == 200


def test_a_body_over_the_limit_is_413_and_one_at_the_limit_is_read(client: FlaskClient) -> None:
    at_limit = body(pod({"custom": "web"})).ljust(MAX_BODY_BYTES)

    assert client.post("/validate", data=at_limit, content_type="application/json").status_code == 200
    assert client.post("/validate", data=at_limit + b" ", content_type="application/json").status_code == 413


def test_a_chunked_body_over_the_limit_is_413_too(client: FlaskClient) -> None:
    sent = body(pod({"custom": "web"})).ljust(MAX_BODY_BYTES + 1)

    answer = client.post(
        "/validate",
        input_stream=io.BytesIO(sent),
        content_type="application/json",
        # What gunicorn says of a chunked body: no length, and an end.
        environ_overrides={"wsgi.input_terminated": True},
    )

    assert answer.status_code == 413


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8"])
def test_a_fault_of_ours_is_500_without_a_traceback_for_the_caller(
    client: FlaskClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    content_type: str,
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(app_module, "encode_response", broken)
    with caplog.at_level(logging.ERROR):
        answer = client.post("/validate", data=body(pod({})), content_type=content_type)

    assert answer.status_code == 500
    assert "Traceback" not in answer.text
    assert "RuntimeError: a fault of ours" in caplog.text


class Breaking(io.BytesIO):
    """A body that breaks off with an error."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def read(self, _size: int | None = -1, /) -> bytes:
        raise self._error

    def readinto(self, _buffer: Any, /) -> int:
        raise self._error


@pytest.mark.parametrize(
    "error",
    [ConnectionResetError(104, "Connection reset by peer"), ssl.SSLEOFError(8, "EOF"), NoMoreData(b"{")],
    ids=lambda error: type(error).__name__,
)
def test_a_client_that_goes_before_its_body_has_come_is_no_fault_of_ours(
    client: FlaskClient, caplog: pytest.LogCaptureFixture, error: OSError
) -> None:
    answer = client.post(
        "/validate",
        input_stream=Breaking(error),
        content_type="application/json",
        environ_overrides={"wsgi.input_terminated": True},
    )

    assert answer.status_code == 400
    assert caplog.records == []


def test_a_body_in_broken_chunks_is_400_and_no_fault_of_ours(
    client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    answer = client.post(
        "/validate",
        input_stream=Breaking(InvalidChunkSize(b"zz")),
        content_type="application/json",
        environ_overrides={"wsgi.input_terminated": True},
    )

    assert answer.status_code == 400
    assert "Invalid chunk size" in answer.text
    assert caplog.records == []
