"""Which tests a run of pytest has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("expression", "is_collected"),
    [("", False), ("e2e", False), ("cert_manager", True), ("e2e and not cert_manager", False)],
)
def test_the_real_cert_manager_runs_only_where_it_is_asked_for_by_name(
    expression: str, is_collected: bool
) -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", expression]
    asked = [*command, "-p", "no:cacheprovider", "tests/chaos/test_cert_manager.py"]
    told = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False).stdout

    assert ("while_the_real_cert_manager_takes_over" in told) == is_collected, told
