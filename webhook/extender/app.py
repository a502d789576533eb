"""The paths that kube-scheduler calls: bytes, verb, bytes."""

from __future__ import annotations

import time
from collections.abc import Callable

from flask import Flask, Response

from webhook.extender.verbs import Verbs
from webhook.extender.wire import MalformedArgs
from webhook.observe import extender_metrics as metrics
from webhook.observe.plugin_metrics import FAILURES
from webhook.scheduling.containment import PluginError
from webhook.serving.json_app import Answer, Reply, json_app, plain_text

__all__ = ["MAX_BODY_BYTES", "create_app"]

# Ten thousand nodes as objects, which only comes without nodeCacheCapable.
MAX_BODY_BYTES = 256 << 20


def create_app(verbs: Verbs) -> Flask:
    """Return the WSGI application that answers for these verbs."""
    answers = {
        "/filter": _timed("filter", verbs.filter),
        "/prioritize": _timed("prioritize", verbs.prioritize),
    }
    app = json_app("extender", answers, max_body_bytes=MAX_BODY_BYTES)
    app.register_error_handler(MalformedArgs, _malformed)
    app.register_error_handler(PluginError, _failed)
    return app


def _timed(verb: str, answer: Callable[[bytes], bytes]) -> Answer:
    duration = metrics.DURATION.labels(verb)

    def timed(body: bytes) -> Reply:
        started = time.perf_counter()
        try:
            return Reply(answer(body))
        finally:
            duration.observe(time.perf_counter() - started)

    return timed


def _malformed(error: MalformedArgs) -> Response:
    return plain_text(400, f"not an ExtenderArgs: {error}")


def _failed(error: PluginError) -> Response:
    FAILURES.labels(error.plugin).inc()
    # A HostPriorityList has no room for an error. kube-scheduler logs this one, and goes on without our scores.
    return plain_text(500, str(error))
