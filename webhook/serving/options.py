"""What the server is told: the settings of its command, and limits of time that no command sets."""

from __future__ import annotations

from webhook.settings import ServerSettings

__all__ = ["ServingOptions"]


class ServingOptions(ServerSettings, frozen=True, kw_only=True):
    """Addresses, processes and threads, and how long each thing may take.

    The time from SIGTERM to the end is at most `drain_seconds` + `graceful_seconds`, and about a second: a
    pod's terminationGracePeriodSeconds has to be longer than that.
    """

    component: str = "webhook"
    """What of the product is served, as the metrics call it."""
    graceful_seconds: int = 15
    """How long requests under way, and then the service's `stop`, may take after the drain."""
    request_deadline_seconds: float = 10.0
    """How long a client may take for its handshake, and then for each request until the answer is sent.

    Longer than the longest timeoutSeconds with which the webhook is registered, as the API server's own
    deadline has to come first.
    """

    @classmethod
    def of(cls, settings: ServerSettings, *, component: str = "webhook") -> ServingOptions:
        """Return the options of a command that has these settings."""
        shared = {name: getattr(settings, name) for name in ServerSettings.__struct_fields__}
        return cls(component=component, **shared)
