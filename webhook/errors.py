"""The errors a person can meet, as a tree.

CustomSchedulerError
├── ConfigurationError    a file, flag or environment variable that can't be used
│   └── PolicyError       a policy file that can't be used
└── ClusterError          the cluster can't be used
    ├── Unreachable       no answer from the API server
    └── ApiError          the API server answered with an error

The text of each is one line that names the thing, what was expected, and the next step.
"""

from __future__ import annotations

from collections.abc import Collection

__all__ = [
    "ApiError",
    "ClusterError",
    "ConfigurationError",
    "CustomSchedulerError",
    "PolicyError",
    "Unreachable",
]


class CustomSchedulerError(Exception):
    """Any fault that is told to a person in one line; commands exit with 2 on it."""


class ConfigurationError(CustomSchedulerError):
    """A file, a flag or an environment variable can't be used."""


class PolicyError(ConfigurationError):
    """A policy file can't be used."""


class ClusterError(CustomSchedulerError):
    """The cluster can't be used."""


class Unreachable(ClusterError):
    """The API server gave no answer: refused, timed out, or its certificate is not trusted."""


class ApiError(ClusterError):
    """The API server answered with an error `Status`; `causes` are the reasons of its details."""

    def __init__(
        self, message: str, *, status: int, reason: str = "", causes: Collection[str] = frozenset()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.causes = causes
