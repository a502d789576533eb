from __future__ import annotations

import threading

from tests.kube.fakeapi import PATIENCE_SECONDS, Exchange, FakeApi
from webhook.kube.watching import Place, watching

PLACES = [
    Place(list_path="/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", name="ours"),
    Place(list_path="/api/v1/namespaces/ns/secrets", name="ours"),
]


def test_a_change_of_any_is_told_and_no_other_objects_are_watched() -> None:
    told = threading.Semaphore(0)
    touch = threading.Event()

    def script(exchange: Exchange) -> None:
        assert exchange.query["fieldSelector"] == "metadata.name=ours"
        if "watch" not in exchange.query:
            exchange.reply(200, {"metadata": {"resourceVersion": "1"}, "items": []})
            return
        exchange.open_stream()
        assert touch.wait(PATIENCE_SECONDS)
        if exchange.path == "/api/v1/namespaces/ns/secrets":
            exchange.event("ADDED", {"metadata": {"name": "ours", "uid": "u", "resourceVersion": "2"}})
        exchange.hang()

    with FakeApi(script) as api:
        with watching(api.client(), PLACES, told.release):
            api.wait_for(lambda exchanges: sum("watch" in each.query for each in exchanges) == 2)
            assert not told.acquire(blocking=False)
            touch.set()
            assert told.acquire(timeout=PATIENCE_SECONDS)

        ours = [each for each in threading.enumerate() if each.name == "watch-ours"]
        assert ours == []
