"""The same with the real cert-manager beside the installation; `make test-cert-manager` runs it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chaos.conftest import Play, options
from tests.chaos.gate import Gate
from tests.chaos.test_no_failed_call import assert_no_failed_call

pytestmark = [pytest.mark.e2e, pytest.mark.cert_manager, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    with Gate(options(tmp_path_factory, cert_manager=True)) as gate:
        yield gate


def test_while_the_real_cert_manager_takes_over_and_gives_way_again(play: Play) -> None:
    assert_no_failed_call(play("cert_manager_comes_and_goes"))
