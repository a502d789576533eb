"""The table through the pure functions."""

from __future__ import annotations

import json

import pytest

from tests.cases.case import Case, Json, assert_expected
from tests.cases.miniature import admit
from tests.cases.policies import POLICIES
from tests.cases.table import CASES
from webhook.admission.review import decode_review, encode_response
from webhook.server.app import DECISIONS


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_in_process(case: Case) -> None:
    def call(path: str, body: bytes) -> Json:
        review = decode_review(body)
        verdict = DECISIONS[path](review, POLICIES[case.policy])
        answer: Json = json.loads(encode_response(review, verdict))
        return answer

    assert_expected(case, admit(case, call))


def test_names_of_cases_are_unique() -> None:
    names = [case.named(case.object)["metadata"].get("name", case.name) for case in CASES]

    assert len(set(names)) == len(names)
