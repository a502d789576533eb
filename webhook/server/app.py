"""The paths that the API server calls, each a straight line: bytes, Review, Verdict, bytes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from flask import Flask, Response, request
from gunicorn.http.errors import ParseException
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge, UnsupportedMediaType

from webhook.admission.mutate import mutate
from webhook.admission.review import MalformedReview, Review, decode_review, encode_response
from webhook.admission.validate import as_warning, validate
from webhook.admission.verdict import Verdict
from webhook.admission.verify import verify
from webhook.observe import admission_metrics as metrics
from webhook.policy.model import Policy
from webhook.server.request_log import log_decision

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
    app = Flask("webhook", static_folder=None)
    # Werkzeug cuts a chunked body at its limit without a word, so the limit is one byte further than ours.
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES + 1
    for path, decide in DECISIONS.items():
        app.add_url_rule(
            path,
            endpoint=path,
            view_func=_view(path, decide, policy),
            methods=["POST"],
            provide_automatic_options=False,
        )
    app.register_error_handler(MalformedReview, _malformed)
    app.register_error_handler(HTTPException, _refused)
    app.register_error_handler(ParseException, _unreadable)
    return app


def _view(path: str, decide: Decision, policy: Callable[[], Policy]) -> Callable[[], Response]:
    def view() -> Response:
        _check_representation()
        body = request.get_data(cache=False)
        if len(body) > MAX_BODY_BYTES:
            raise RequestEntityTooLarge(f"the body is longer than {MAX_BODY_BYTES} bytes")
        started = time.perf_counter()
        operation = ""
        outcome = "error"
        try:
            review = decode_review(body)
            operation = review.operation
            verdict = decide(review, policy())
            outcome = verdict.outcome
            answer = encode_response(review, verdict)
        finally:
            seconds = time.perf_counter() - started
            metrics.REQUESTS.labels(path, operation, outcome).inc()
            metrics.DURATION.labels(path).observe(seconds)
        log_decision(path, review, verdict, seconds)
        return Response(answer, mimetype="application/json")

    return view


def _check_representation() -> None:
    """Let through what is JSON as it stands. Parameters of the type are no matter: JSON is UTF-8 (RFC 8259)."""
    if request.mimetype != "application/json":
        raise UnsupportedMediaType(f"Content-Type is {request.mimetype or 'not set'}; send application/json")
    coding = request.headers.get("Content-Encoding", "")
    if coding.lower() not in ("", "identity"):
        raise _Encoded(f"Content-Encoding is {coding}; send the body as it is, without one")


class _Encoded(UnsupportedMediaType):
    """A body that would have to be decoded first; the answer says what is understood (RFC 9110 section 15.5.16)."""

    def get_headers(self, *args: Any, **kwargs: Any) -> list[tuple[str, str]]:
        """Return the headers of the answer."""
        return [*super().get_headers(*args, **kwargs), ("Accept-Encoding", "identity")]


def _malformed(error: MalformedReview) -> Response:
    return Response(f"not an AdmissionReview v1: {error}\n", status=400, mimetype="text/plain")


def _unreadable(error: ParseException) -> Response:
    # gunicorn finds out what is wrong with a chunked body while we read it; it then closes the connection itself.
    return Response(f"the body can't be read: {error}\n", status=400, mimetype="text/plain")


def _refused(error: HTTPException) -> Response:
    answer = Response(f"{error.description}\n", status=error.code, mimetype="text/plain")
    for name, value in error.get_headers():
        if name in ("Allow", "Accept-Encoding"):
            answer.headers[name] = value
    return answer
