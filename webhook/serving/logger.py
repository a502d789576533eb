"""gunicorn's messages in our log, at the level that they have for an admin."""

from __future__ import annotations

import logging
from typing import Any

from gunicorn.config import Config
from gunicorn.glogging import Logger

__all__ = ["QuietLogger"]

log = logging.getLogger("custom_scheduler.serving")


class QuietLogger(Logger):
    """Hands gunicorn's messages to `custom_scheduler.serving`, and leaves every handler alone.

    What gunicorn calls information (each process and each signal) is for debugging here. Requests are logged
    by the application, which knows what they mean.
    """

    def setup(self, cfg: Config) -> None:
        """Use our logger in place of gunicorn's two."""
        self.cfg = cfg
        self.error_log = self.access_log = log

    def info(self, msg: object, *args: object, **details: Any) -> None:
        """Log a step of gunicorn's own."""
        log.debug(msg, *args, **details)

    def access(self, *request: object) -> None:
        """Log nothing."""
