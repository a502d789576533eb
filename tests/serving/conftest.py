from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.serving.program import Scenario
from tests.serving.server import Authority, Server, running
from webhook.serving.options import ServingOptions

Start = Callable[..., Server]

LOCAL: dict[str, Any] = {
    "host": "127.0.0.1",
    "port": 0,
    "ops_host": "127.0.0.1",
    "ops_port": 0,
    "threads": 2,
    "drain_seconds": 0.0,
    "graceful_seconds": 10,
    "request_deadline_seconds": 10.0,
}
DEFAULT = ServingOptions(**LOCAL | {"threads": 32})


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"), pairs=2)


@pytest.fixture
def start(authority: Authority) -> Iterator[Start]:
    """Start a server for this test; options by keyword, the rest of the scenario too."""
    with ExitStack() as stack:

        def enter(**given: Any) -> Server:
            options = {name: given.pop(name) for name in list(given) if name in LOCAL | {"workers": 1}}
            scenario = Scenario(options=ServingOptions(**LOCAL | options), pairs=authority.pairs, **given)
            return stack.enter_context(running(scenario, authority))

        yield enter


@pytest.fixture(scope="module")
def server(authority: Authority) -> Iterator[Server]:
    """Serve with the default number of threads, for tests that leave it as they found it."""
    with running(Scenario(options=DEFAULT, pairs=authority.pairs), authority) as server:
        yield server


@pytest.fixture(scope="module")
def quiet_server(authority: Authority) -> Iterator[Server]:
    """Serve like `server`, for tests that compare one that nobody troubles."""
    with running(Scenario(options=DEFAULT, pairs=authority.pairs), authority) as server:
        yield server
