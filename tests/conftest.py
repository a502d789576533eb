"""What all tests share."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

# No example has a deadline, and making them may take its time: the machine may be busy. Tests leave no files behind.
settings.register_profile(
    "patient", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")

_ASKED_FOR_BY_NAME = "cert_manager"


def pytest_configure() -> None:
    # A shell that starts us in the background has us ignore Ctrl-C, which every program under test would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # In `-m` of addopts, any other `-m` would lift it.
    if _ASKED_FOR_BY_NAME in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker(_ASKED_FOR_BY_NAME)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
