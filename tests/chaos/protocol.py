"""What the tests and the gate's inside say to each other."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["Options", "Ready", "Request", "Result"]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How the stage is set."""

    logs: str
    """A folder for the logs of pods and kubelet."""
    variables: dict[str, str]
    """Environment variables of the image, beside those of the Dockerfile."""
    endpoints_delay_seconds: float
    cert_manager: bool = False
    """Whether the real cert-manager runs beside the installation."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Play this scenario, with at least so many calls."""

    scenario: str
    calls: int


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The stage is set."""


class Result(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What became of the calls of one scenario."""

    scenario: str
    fault: str
    """Why the scenario did not come to its end, or empty."""
    calls: int
    failed: int
    faults: list[str]
    fail_open: int
    failed_closed: int
    seconds: float
    p50_ms: float
    p99_ms: float
    longest_ms: float
    latest_ms: float
    """By how much the latest call began too late, for want of a processor."""
    answers: dict[str, int]
    proof: dict[str, Any]
