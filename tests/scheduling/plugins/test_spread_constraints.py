from __future__ import annotations

from typing import Any

import pytest

from webhook.errors import ConfigurationError
from webhook.scheduling.plugins.spread_constraints import SpreadConstraints
from webhook.scheduling.workloads import Workloads

ZONE = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ({"defaultConstraints": [ZONE]}, "defaultConstraints: set defaultingType to List to use your own"),
        (
            {"defaultingType": "List", "defaultConstraints": [ZONE, ZONE]},
            "defaultConstraints: DoNotSchedule on zone is there more than once",
        ),
        ({"defaultingType": "Any"}, "defaultingType: Invalid enum value 'Any'"),
        (
            {"defaultingType": "List", "defaultConstraints": [{**ZONE, "maxSkew": 0}]},
            r"defaultConstraints\[0\].maxSkew: Expected `int` >= 1",
        ),
        (
            {"defaultingType": "List", "defaultConstraints": [{**ZONE, "topologyKey": ""}]},
            r"defaultConstraints\[0\].topologyKey: Expected `str` of length >= 1",
        ),
        (
            {"defaultingType": "List", "defaultConstraints": [{**ZONE, "labelSelector": {}}]},
            r"defaultConstraints\[0\]: Object contains unknown field `labelSelector`",
        ),
    ],
)
def test_wrong_arguments_are_refused_with_their_place(args: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigurationError, match=f"arguments of PodTopologySpread: {fault}"):
        SpreadConstraints(args, Workloads())
