"""The plugins that a command is about: those of a configuration here, or of a running binder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import urllib3

from webhook.binder.plugin_state import PluginState
from webhook.binder.survey import survey
from webhook.errors import ConfigurationError, CustomSchedulerError

__all__ = ["plugins_from"]

_PATH = "/plugins"
_SECONDS = 10.0


def plugins_from(*, scheduler_config: Path | None, url: str | None) -> Sequence[PluginState]:
    """Return what there is; raises CustomSchedulerError."""
    if scheduler_config is not None and url is not None:
        raise ConfigurationError("both --scheduler-config and --from are given; choose one of them")
    return survey(scheduler_config) if url is None else _there(url)


def _there(url: str) -> Sequence[PluginState]:
    address = url.rstrip("/") + _PATH
    try:
        answer = urllib3.request("GET", address, retries=False, redirect=False, timeout=_SECONDS)
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        raise CustomSchedulerError(
            f"{address}: no answer ({error}); give the ops port of a binder, as kubectl port-forward shows it"
        ) from error
    try:
        if answer.status == 200:
            return msgspec.json.decode(answer.data, type=list[PluginState])
        fault = f"answered {answer.status}"
    except msgspec.DecodeError as error:
        fault = str(error)
    raise CustomSchedulerError(f"{address}: is no binder's ops port ({fault}); give the address of one")
