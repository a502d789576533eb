"""The shipped alerts and the dashboard, as the tests ask for them."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

__all__ = ["FOLDER", "Alert", "alerts", "dashboard", "panel_queries"]

FOLDER = Path(__file__).parents[2] / "manifests/observability"

# What Grafana puts in their place, for a scrape every 30 s.
_MACROS = {"$__rate_interval": "2m"}
_UNITS = {"s": 1, "m": 60, "h": 3600}


class Alert(msgspec.Struct, frozen=True, rename={"name": "alert", "after": "for"}):
    """One alerting rule."""

    name: str
    expr: str
    labels: dict[str, str]
    annotations: dict[str, str]
    after: str = "0s"

    @property
    def for_seconds(self) -> int:
        """How long its expression has to hold."""
        return int(self.after[:-1]) * _UNITS[self.after[-1]]

    def labels_in_texts(self) -> set[str]:
        """Return the labels that its texts speak of."""
        return set(re.findall(r"\$labels\.(\w+)", " ".join(self.annotations.values())))


@cache
def alerts() -> dict[str, Alert]:
    """Return the alerts by name."""
    rules = yaml.safe_load((FOLDER / "alerts.yaml").read_text())
    found = [
        msgspec.convert(rule, Alert, strict=True)
        for group in rules["spec"]["groups"]
        for rule in group["rules"]
    ]
    return {each.name: each for each in found}


@cache
def dashboard() -> dict[str, Any]:
    """Return the dashboard."""
    read: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text())
    return read


def panel_queries() -> list[tuple[str, str, str]]:
    """Return title, expression and legend of each query of each panel, as Grafana would send it."""
    found = []
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"]
            for macro, value in _MACROS.items():
                expression = expression.replace(macro, value)
            found.append((panel["title"], expression, target["legendFormat"]))
    return found
