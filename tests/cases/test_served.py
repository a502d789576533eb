"""The table through `serve --offline`, over TLS; its policy file changes under it from one policy to the next."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby

import pytest

from tests.cases.case import Case, Json, Outcome, assert_expected
from tests.cases.miniature import admit
from tests.cases.policies import OWN_NAMESPACE, put_in_force, written
from tests.cases.table import CASES
from tests.offline import OfflineServer

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Outcome]]:
    """What `serve` makes of each case, by name."""
    folder = tmp_path_factory.mktemp("served")
    policy = folder / "policy.yaml"
    policy.write_text(written(CASES[0].policy))
    server = OfflineServer(folder, policy, "--namespace", OWN_NAMESPACE)
    with server, server.pool() as pool:

        def call(path: str, body: bytes) -> Json:
            answer = pool.request("POST", path, body=body, headers=JSON)
            assert answer.status == 200
            decoded: Json = json.loads(answer.data)
            return decoded

        found: dict[str, Outcome] = {}
        for name, cases in groupby(CASES, lambda case: case.policy):
            put_in_force(name, policy, server.ops)
            found |= {case.name: admit(case, call) for case in cases}
        yield found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_through_serve(case: Case, outcomes: dict[str, Outcome]) -> None:
    assert_expected(case, outcomes[case.name])
