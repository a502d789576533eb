"""The JSON Patches that people are told to send write where they say, in what the manifests install."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.manifests.test_manifests import VARIANTS, of_kind

ROOT = Path(__file__).parents[2]
PATCH = re.compile(r"kubectl patch (\S+) (\S+) --type=json(?:\s|\\)+-p '([^']+)'")


GUIDES = "\n".join(path.read_text() for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")))


def patches() -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Return (kind, name, operations) of each command that patches."""
    return [(kind, name, json.loads(patch)) for kind, name, patch in PATCH.findall(GUIDES)]


def test_every_command_that_patches_is_understood_here() -> None:
    assert len(patches()) == GUIDES.count("kubectl patch") > 0


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("kind", "name", "operations"), patches())
def test_a_patch_tests_first_that_it_writes_into_the_entry_it_means(
    kind: str, name: str, operations: list[dict[str, Any]], variant: str
) -> None:
    (configuration,) = [
        each
        for each in of_kind(variant, "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
        if each["kind"].lower() == kind and each["metadata"]["name"] == name
    ]
    tested: set[str] = set()
    for operation in operations:
        index = operation["path"].split("/")[2]
        if operation["op"] == "test" and operation["path"] == f"/webhooks/{index}/name":
            tested.add(index)
            assert configuration["webhooks"][int(index)]["name"] == operation["value"]
        else:
            assert index in tested


def test_the_way_back_opens_every_entry_that_the_overlay_closed() -> None:
    closed = {
        f"/webhooks/{index}/failurePolicy"
        for configuration in of_kind("overlays/fail", "ValidatingWebhookConfiguration")
        for index, entry in enumerate(configuration["webhooks"])
        if entry["failurePolicy"] == "Fail"
    }
    opened = {
        operation["path"]
        for _, _, operations in patches()
        for operation in operations
        if operation.get("value") == "Ignore"
    }

    assert opened == closed
