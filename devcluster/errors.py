"""The errors of a devcluster; the text of each is one line that names the thing and what was wrong with it.

DevClusterError
├── BuildError          the programs can't be built or found
├── StartError          a component did not start, or ended by itself
├── RequestError        the API server answered a request with an error
├── InstallationError   custom-scheduler did not come up beside it, or ended by itself
├── SandboxError        this machine gives us no namespaces to run pods in
└── PodError            a pod asks for what the process kubelet can't give it, or not yet
"""

from __future__ import annotations

__all__ = [
    "BuildError",
    "DevClusterError",
    "InstallationError",
    "PodError",
    "RequestError",
    "SandboxError",
    "StartError",
]


class DevClusterError(Exception):
    """The devcluster can't do what was asked."""


class BuildError(DevClusterError):
    """The control plane's programs can't be built or found."""


class StartError(DevClusterError):
    """A component did not start, or ended by itself later."""


class RequestError(DevClusterError):
    """The API server answered with a status of 400 or more."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class InstallationError(DevClusterError):
    """custom-scheduler did not come up beside the cluster, or ended by itself."""


class SandboxError(DevClusterError):
    """This machine gives us no namespaces to run pods in."""


class PodError(DevClusterError):
    """A pod asks for something that the process kubelet can't give it, or not yet."""
