"""The README's examples work as they are written, and its transcript is what the demo prints."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from webhook.policy.parse import parse_policy
from webhook.scheduling.cache import Cache
from webhook.scheduling.config import parse_configuration
from webhook.scheduling.outcome import FitError, Placement
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.profile import build_frameworks
from webhook.scheduling.testing import make_cache, make_node, make_pod

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def test_the_first_policy_is_valid() -> None:
    (policy,) = [block for block in blocks("yaml") if "PlacementPolicy" in block]

    assert parse_policy(policy, source="README.md", own_namespace="custom-scheduler").name == "default"


def test_the_first_plugin_is_found_and_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (plugin,) = blocks("python")
    (configuration,) = [block for block in blocks("yaml") if "SchedulerConfiguration" in block]
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins/calm.py").write_text(plugin)
    monkeypatch.chdir(tmp_path)
    parsed = parse_configuration(configuration, source="README.md")
    crowd = [make_pod(f"p{number}", node="busy") for number in range(20)]
    cache = make_cache(make_node("busy"), make_node("calm"), pods=crowd)

    def decide(cache: Cache) -> object:
        frameworks = build_frameworks(
            parsed.profiles, load_plugins(parsed.plugin_sources), cache, random.Random(0)
        )
        return frameworks["custom-scheduler"].schedule(make_pod("new"))

    placed = decide(cache)
    cache.remove_node("calm")
    refused = decide(cache)

    assert isinstance(placed, Placement)
    assert placed.node_name == "calm"
    assert isinstance(refused, FitError)
    assert refused.message == "0/1 nodes are available: 1 node(s) had 20 pods already."


def test_the_transcript_shows_the_demos_own_manifests() -> None:
    (transcript,) = blocks("console")

    shown = re.findall(r"^\$ cat (\S+)\n", transcript, flags=re.MULTILINE)
    assert shown
    for manifest in shown:
        assert (ROOT / manifest).read_text() in transcript


def test_every_link_into_the_repository_leads_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]

    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_make_target_that_is_named_exists() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)

    assert set(re.findall(r"\bmake ([a-z-]+)", README)) <= set(targets)
