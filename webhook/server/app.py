"""The paths that the API server calls, each a straight line: bytes, Review, Verdict, bytes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial

from flask import Flask, Response, request
from prometheus_client import Counter

from webhook.admission.mutate import mutate
from webhook.admission.review import MalformedReview, Review, decode_review, encode_response
from webhook.admission.validate import as_warning, validate
from webhook.admission.verdict import Verdict
from webhook.admission.verify import verify
from webhook.observe import admission_metrics as metrics
from webhook.policy.model import Policy
from webhook.server.request_log import MalformedLog, is_logged, log_decision
from webhook.serving.json_app import Answer, Reply, json_app, plain_text

__all__ = ["DECISIONS", "MAX_BODY_BYTES", "Decision", "create_app"]

# The API server stores objects of up to 3 MiB, and an UPDATE carries two.
# k8s.io/apiserver/pkg/server/config.go, MaxRequestBodyBytes
MAX_BODY_BYTES = 8 << 20

Decision = Callable[[Review, Policy], Verdict]


def _validate_as_warning(review: Review, policy: Policy) -> Verdict:
    return as_warning(validate(review, policy))


def _mutate_by_pod(review: Review, policy: Policy) -> Verdict:
    return mutate(review, policy, opted_in_by="pod")


def _mutate_by_namespace(review: Review, policy: Policy) -> Verdict:
    return mutate(review, policy, opted_in_by="namespace")


# The path says what the API server's selectors decided already, so that no decision needs to ask it anything.
DECISIONS: dict[str, Decision] = {
    "/validate": validate,
    "/validate-admission": validate,
    "/validate/warn": _validate_as_warning,
    "/mutate": _mutate_by_pod,
    "/mutate/namespace": _mutate_by_namespace,
    "/verify": verify,
}


def create_app(policy: Callable[[], Policy]) -> Flask:
    """Return the WSGI application that decides each review by the policy in force when it arrives."""
    answers = {path: _answer(path, decide, policy) for path, decide in DECISIONS.items()}
    app = json_app("webhook", answers, max_body_bytes=MAX_BODY_BYTES)
    app.register_error_handler(MalformedReview, partial(_malformed, MalformedLog()))
    return app


def _answer(path: str, decide: Decision, policy: Callable[[], Policy]) -> Answer:
    duration = metrics.DURATION.labels(path)

    @cache
    def requests(operation: str, outcome: str) -> Counter:
        return metrics.REQUESTS.labels(path, operation, outcome)

    def answer(body: bytes) -> Reply:
        started = time.perf_counter()
        operation = ""
        outcome = "error"
        try:
            review = decode_review(body)
            operation = review.operation
            verdict = decide(review, policy())
            outcome = verdict.outcome
            response = encode_response(review, verdict)
        finally:
            seconds = time.perf_counter() - started
            requests(operation, outcome).inc()
            duration.observe(seconds)
        # A line of the log takes a third of the time that a request does, for which the API server need not wait.
        log = partial(log_decision, path, review, verdict, seconds) if is_logged(verdict) else None
        return Reply(response, afterwards=log)

    return answer


def _malformed(malformed: MalformedLog, error: MalformedReview) -> Response:
    malformed.tell(request.path, error)
    return plain_text(400, f"not an AdmissionReview v1: {error}")
