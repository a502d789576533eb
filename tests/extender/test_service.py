from __future__ import annotations

import random
import ssl

from tests.kube.fakeapi import Exchange, FakeApi
from webhook.extender.service import ExtenderService
from webhook.scheduling.cache import Cache
from webhook.scheduling.testing import make_framework


class Certificates:
    """None at all."""

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def context(self) -> ssl.SSLContext:
        raise AssertionError("nobody connects")

    def not_ready(self) -> list[str]:
        return []


class Closing:
    closed = 0

    def filter_node(self, _pod: object, _node: object) -> None:
        pass

    def close(self) -> None:
        self.closed += 1


def test_the_plugins_are_closed_when_it_stops() -> None:
    closing, cache = Closing(), Cache()
    with FakeApi(lambda exchange: Exchange.refuse(exchange, 500)) as api:
        service = ExtenderService(
            api.client(),
            cache=cache,
            framework=make_framework(cache, Closing=closing),
            certificates=Certificates(),
            clock=lambda: 0.0,
            rng=random.Random(0),
            best_score=10,
        )
        service.start()
        service.stop()

    assert closing.closed == 1
