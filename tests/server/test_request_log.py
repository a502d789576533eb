"""What the log keeps of a request, as a person and as a machine read it."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.admission.reviews import body, pod
from tests.clocks import SetClock
from webhook.admission.review import MalformedReview
from webhook.observe.logs import LogLevel, TextFormatter, configure_logging
from webhook.policy.model import Policy, RequiredLabel
from webhook.server.app import create_app
from webhook.server.request_log import MalformedLog

POLICY = Policy(name="default", required_labels=(RequiredLabel(key="custom"),))
ALLOWED = pod({"custom": "web"})
OPTED_IN = pod({"custom-scheduler.io/opt-in": "true", "custom": "web"})


@pytest.fixture
def client() -> FlaskClient:
    return create_app(lambda: POLICY).test_client()


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Log to this, as JSON and from info on."""
    loggers = {name: logging.getLogger(name) for name in ("", "custom_scheduler", "certs")}
    levels = {name: logger.level for name, logger in loggers.items()}
    handlers = loggers[""].handlers[:]
    stream = io.StringIO()
    configure_logging("json", stream=stream)
    yield stream
    loggers[""].handlers[:] = handlers
    for name, level in levels.items():
        loggers[name].setLevel(level)


def lines(
    client: FlaskClient, stream: io.StringIO, path: str, review: bytes, level: LogLevel = "info"
) -> list[dict[str, Any]]:
    """Return what is logged about a request."""
    configure_logging("json", level=level, stream=stream)
    # Buffered, the answer is closed, as a server closes it once it is sent.
    answer = client.post(path, data=review, content_type="application/json", buffered=True)
    assert answer.status_code == 200
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_denial_is_one_line_with_what_an_admin_looks_for(client: FlaskClient, stream: io.StringIO) -> None:
    review = body(pod(), uid="u-1", namespace="team-a", name="web", userInfo={"username": "dev"})

    (line,) = lines(client, stream, "/validate", review)

    assert line["message"].startswith("denied: Pod must have custom label")
    assert {key: line[key] for key in ("level", "uid", "namespace", "name", "user", "rule", "verdict")} == {
        "level": "info",
        "uid": "u-1",
        "namespace": "team-a",
        "name": "web",
        "user": "dev",
        "rule": "spec.requiredLabels[0]",
        "verdict": "deny",
    }
    assert (line["webhook"], line["operation"], line["kind"]) == ("/validate", "CREATE", "Pod")
    assert line["milliseconds"] >= 0


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8"])
def test_a_denial_is_logged_when_the_client_has_its_answer(
    client: FlaskClient, stream: io.StringIO, content_type: str
) -> None:
    answer = client.post("/validate", data=body(pod()), content_type=content_type)
    before = stream.getvalue()
    answer.close()

    assert (before, stream.getvalue().count("\n")) == ("", 1)


def test_a_denial_is_one_line_for_people_too(client: FlaskClient, stream: io.StringIO) -> None:
    logging.getLogger().handlers[0].setFormatter(TextFormatter())
    review = body(pod(), uid="u-1", namespace="team-a", name="web", userInfo={"username": "dev"})

    client.post("/validate", data=review, content_type="application/json", buffered=True)

    (line,) = stream.getvalue().splitlines()
    assert " INFO    denied: Pod must have custom label" in line
    for field in ('uid="u-1"', 'namespace="team-a"', 'name="web"', 'user="dev"', "dryRun=false"):
        assert f" {field}" in line


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_dry_run_is_marked(client: FlaskClient, stream: io.StringIO, dry_run: bool) -> None:
    (line,) = lines(client, stream, "/validate", body(pod(), dryRun=dry_run))

    assert line["dryRun"] is dry_run


@pytest.mark.parametrize(
    ("path", "obj", "verdict", "said"),
    [
        ("/validate", ALLOWED, "allow", "allowed"),
        ("/validate/warn", pod(), "warn", "warned"),
        ("/mutate", OPTED_IN, "mutate", "mutated"),
    ],
)
def test_what_is_not_denied_is_a_line_for_debugging_with_the_time_it_took(
    client: FlaskClient, stream: io.StringIO, path: str, obj: dict[str, Any], verdict: str, said: str
) -> None:
    quiet = lines(client, stream, path, body(obj))
    (line,) = lines(client, stream, path, body(obj), "debug")

    assert quiet == []
    assert (line["level"], line["verdict"], line["message"]) == ("debug", verdict, said)
    assert 0 <= line["milliseconds"] < 10_000


def test_names_in_a_request_can_neither_forge_a_line_nor_make_it_long(
    client: FlaskClient, stream: io.StringIO
) -> None:
    logging.getLogger().handlers[0].setFormatter(TextFormatter())
    evil = "x\n2026-01-01T00:00:00.000Z INFO    allowed\u202e\x1b[31m" + "y" * 100_000
    review = body(
        pod({evil: evil}), uid=evil, name=evil, namespace=evil, userInfo={"username": evil, "groups": [evil]}
    )

    client.post("/validate", data=review, content_type="application/json", buffered=True)

    line = stream.getvalue().removesuffix("\n")
    assert "denied: " in line
    assert line.isprintable()
    assert len(line) < 20_000


def test_a_flood_of_bodies_that_are_no_review_is_one_line_for_each_path_with_the_fault(
    client: FlaskClient, stream: io.StringIO
) -> None:
    for path in ("/validate", "/mutate") * 3:
        client.post(path, data=b'{"kind": 7, "secret": "x"}', content_type="application/json")

    told = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["webhook"] for line in told] == ["/validate", "/mutate"]
    for line in told:
        assert (line["level"], line["logger"]) == ("warning", "custom_scheduler.admission")
        assert line["message"].startswith("not an AdmissionReview v1: $.kind: ")
        assert "secret" not in line["message"]


def test_what_is_no_review_is_told_again_a_minute_later(stream: io.StringIO) -> None:
    clock = SetClock(0.0)
    malformed = MalformedLog(clock)

    for clock.now in (0.0, 59.9, 60.0):
        malformed.tell("/validate", MalformedReview(f"$: at {clock.now}"))

    told = [json.loads(line)["message"] for line in stream.getvalue().splitlines()]
    assert told == ["not an AdmissionReview v1: $: at 0.0", "not an AdmissionReview v1: $: at 60.0"]
