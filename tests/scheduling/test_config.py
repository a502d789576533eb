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
        ("", "f: is empty; expected a SchedulerConfiguration"),
        ("[]", "f:1: the document is a list; expected a mapping"),
        ("kind: SchedulerConfiguration", "f:1: apiVersion is missing"),
        ("a: [", "f:2: is not YAML: did not find expected node content"),
        (HEAD + "kind: SchedulerConfiguration\n", "f:3: kind is given twice, first in line 2"),
        ("? [a]\n: 1", r"f:1: \? is not a known key"),
        ("a: \x00", "f: is not YAML: .*control characters"),
        (
            HEAD.replace("v1alpha1", "v1"),
            'f:1: apiVersion is "custom-scheduler.io/v1"; allowed: custom-scheduler.io/v1alpha1',
        ),
        (
            HEAD + "profile: []",
            "f:3: profile is not a known key; known: apiVersion, kind, pluginSources, profiles",
        ),
        (
            HEAD + "profiles:\n- pluginConfig:\n  - {name: A, args: {b: 1, b: 2}}",
            r"f:5: .*args\.b is given twice",
        ),
        (
            HEAD + "profiles:\n- pluginConfig:\n  - {name: A, args: {b: !bar 1}}",
            r"f:5: .*args\.b can't be read: .* for the tag '!bar'",
        ),
        (
            HEAD + "profiles:\n- pluginConfig:\n  - args: {}",
            r"f:5: profiles\[0\]\.pluginConfig\[0\]\.name is missing",
        ),
        (HEAD + "profiles: []", "f:3: profiles can't be used: Expected `array` of length >= 1"),
        (
            HEAD + "profiles: [{plugins: {score: {enable: []}}}]",
            r"f:3: profiles\[0\]\.plugins\.score\.enable is not a known key; known: enabled, disabled",
        ),
        (
            HEAD + "profiles:\n- plugins:\n    multipoint: {}",
            r"f:5: profiles\[0\]\.plugins\.multipoint is not a known key; known: multiPoint, preEnqueue, ",
        ),
        (
            HEAD + "pluginSources:\n- dir: plugins",
            r"f:4: pluginSources\[0\]\.dir is not a known key; known: entryPoints, module, directory",
        ),
        (HEAD + "profiles: [plugins]", r'f:3: profiles\[0\] is "plugins"; expected a mapping'),
        (HEAD + "profiles: {plugins: {}}", "f:3: profiles can't be used: Expected `array`, got `object`"),
        (
            HEAD + "profiles: [{plugins: {score: {enabled: [{name: A, weight: 0}]}}}]",
            r"f:3: profiles\[0\]\.plugins\.score\.enabled\[0\]\.weight can't be used: Expected `int` >= 1",
        ),
        (
            HEAD + "profiles: [{plugins: {preBind: {enabled: [{name: A}, {name: A}]}}}]",
            r"f:3: profiles\[0\]\.plugins\.preBind\.enabled has A more than once",
        ),
        (
            HEAD + "profiles: [{}, {}]",
            "f:3: profiles has custom-scheduler as the schedulerName of more than one",
        ),
        (
            HEAD + "profiles: [{pluginConfig: [{name: A}, {name: A}]}]",
            r"f:3: profiles\[0\]\.pluginConfig has A more than once",
        ),
        (
            HEAD + "pluginSources: [{}]",
            r"f:3: pluginSources\[0\] needs one of entryPoints, module, directory",
        ),
        (HEAD + "pluginSources: [{module: a, directory: b}]", r"f:3: pluginSources\[0\] needs one of"),
    ],
)
def test_a_fault_is_told_with_the_path_to_it(text: str, fault: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{fault}"):
        parse_configuration(text, source="f")


def test_a_file_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"missing\.yaml: can't be read \(No such file .*a SchedulerConfiguration"
    ):
        load_configuration(tmp_path / "missing.yaml")


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(HEAD)

    assert load_configuration(path) == SchedulerConfiguration()


@pytest.mark.parametrize(
    ("written", "meant"),
    [("plugins", "{folder}/plugins"), (".", "{folder}"), ("/srv/plugins", "/srv/plugins")],
)
def test_a_directory_is_relative_to_the_file_that_names_it(
    written: str, meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    file = tmp_path / "config.yaml"
    file.write_text(HEAD + f"pluginSources: [{{directory: {written}}}, {{module: acme}}]")

    directory, module = load_configuration(file).plugin_sources

    assert directory.directory == meant.format(folder=tmp_path)
    assert module == PluginSource(module="acme")
