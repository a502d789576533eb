"""Cases that the two schedulers once saw differently, against the answers that kube-scheduler gave."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.conformance.compare import replay
from tests.conformance.model import Case

_FILES = sorted((Path(__file__).parent / "kept").glob("*.json"))


@pytest.mark.parametrize("file", _FILES, ids=lambda file: file.stem)
def test_kept_case_is_answered_as_by_kube_scheduler(file: Path) -> None:
    case = msgspec.json.decode(file.read_bytes(), type=Case)

    assert replay(case) == []
