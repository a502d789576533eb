"""The proof of the net: whatever is wrong in a plugin shows in the answers to the first seeds."""

from __future__ import annotations

import pytest

from tests.conformance.compare import disagreements
from tests.conformance.faults import FAULTS, Fault
from tests.conformance.model import Record


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_planted_fault_is_caught(
    fault: Fault, recorded: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault.plant(monkeypatch)

    caught = next((found for record in recorded for found in disagreements(record)), None)

    assert caught is not None, "no answer is different"
    # Wrong, and not merely broken.
    assert not any("SchedulerError" in difference for difference in caught[1])
