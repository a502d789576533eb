from __future__ import annotations

from pathlib import Path

import pytest

from webhook.errors import ConfigurationError
from webhook.scheduling.config import (
    PluginConfig,
    PluginRef,
    PluginsConfig,
    PluginSetConfig,
    PluginSource,
    Profile,
    SchedulerConfiguration,
    load_configuration,
    parse_configuration,
)

HEAD = "apiVersion: custom-scheduler.io/v1alpha1\nkind: SchedulerConfiguration\n"
FULL = f"""{HEAD}
pluginSources:
- entryPoints: custom_scheduler.plugins
- module: acme.algorithms
- directory: /etc/custom-scheduler/plugins
profiles:
- schedulerName: custom-scheduler
  plugins:
    score: {{enabled: [{{name: MemoryUsage, weight: 2}}], disabled: [{{name: ImageLocality}}]}}
  pluginConfig: [{{name: MemoryUsage, args: {{expirySeconds: 180}}}}]
"""


def test_every_field_is_read() -> None:
    score = PluginSetConfig(
        enabled=(PluginRef(name="MemoryUsage", weight=2),), disabled=(PluginRef(name="ImageLocality"),)
    )

    assert parse_configuration(FULL, source="f") == SchedulerConfiguration(
        plugin_sources=(
            PluginSource(entry_points="custom_scheduler.plugins"),
            PluginSource(module="acme.algorithms"),
            PluginSource(directory="/etc/custom-scheduler/plugins"),
        ),
        profiles=(
            Profile(
                plugins=PluginsConfig(score=score),
                plugin_config=(PluginConfig(name="MemoryUsage", args={"expirySeconds": 180}),),
            ),
        ),
    )


def test_without_profiles_there_is_the_default_one() -> None:
    assert parse_configuration(HEAD, source="f") == SchedulerConfiguration()
    assert SchedulerConfiguration().profiles == (Profile(scheduler_name="custom-scheduler"),)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "f: expected a SchedulerConfiguration, got NoneType"),
        ("[]", "f: expected a SchedulerConfiguration, got list"),
        ("kind: SchedulerConfiguration", "f: apiVersion is missing"),
        ("a: [", "f:2: not YAML: did not find expected node content"),
        (HEAD + "kind: SchedulerConfiguration\n", "f:3: not YAML: kind is given twice"),
        ("? [a]\n: 1", "f:1: not YAML: found unhashable key"),
        ("a: \x00", "f: not YAML: .*control characters"),
        (HEAD.replace("v1alpha1", "v1"), "f: apiVersion: Invalid enum value 'custom-scheduler.io/v1'"),
        (HEAD + "profile: []", "f: Object contains unknown field `profile`"),
        (HEAD + "profiles: []", "f: profiles: Expected `array` of length >= 1"),
        (
            HEAD + "profiles: [{plugins: {score: {enable: []}}}]",
            r"f: profiles\[0\]\.plugins\.score: .*`enable`",
        ),
        (
            HEAD + "profiles: [{plugins: {score: {enabled: [{name: A, weight: 0}]}}}]",
            r"f: profiles\[0\]\.plugins\.score\.enabled\[0\]\.weight: Expected `int` >= 1",
        ),
        (
            HEAD + "profiles: [{plugins: {preBind: {enabled: [{name: A}, {name: A}]}}}]",
            r"f: profiles\[0\]\.plugins\.preBind\.enabled: A is there more than once",
        ),
        (HEAD + "profiles: [{}, {}]", "f: profiles: custom-scheduler is the schedulerName of more than one"),
        (
            HEAD + "profiles: [{pluginConfig: [{name: A}, {name: A}]}]",
            r"f: profiles\[0\]\.pluginConfig: A is there more than once",
        ),
        (
            HEAD + "pluginSources: [{}]",
            r"f: pluginSources\[0\]: expected one of entryPoints, module, directory",
        ),
        (HEAD + "pluginSources: [{module: a, directory: b}]", r"f: pluginSources\[0\]: expected one of"),
    ],
)
def test_a_fault_is_told_with_the_path_to_it(text: str, fault: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{fault}"):
        parse_configuration(text, source="f")


def test_a_file_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"can't read the scheduler configuration .*missing\.yaml"):
        load_configuration(tmp_path / "missing.yaml")


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(HEAD)

    assert load_configuration(path) == SchedulerConfiguration()
