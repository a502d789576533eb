from __future__ import annotations

from pathlib import Path

import yaml
from click.testing import CliRunner

from webhook import cli

POLICY = Path(__file__).parents[2] / "manifests/base/policy.yaml"


def test_the_shipped_policy_is_exported_for_kubectl_apply() -> None:
    answer = CliRunner().invoke(cli.main, ["policy", "export", "--format", "cel", str(POLICY)])

    assert answer.exit_code == 0
    documents = list(yaml.safe_load_all(answer.output))
    assert {document["apiVersion"] for document in documents} == {"admissionregistration.k8s.io/v1"}


def test_our_own_namespace_is_exempt_whatever_its_name() -> None:
    answer = CliRunner().invoke(cli.main, ["policy", "export", "--namespace", "placement", str(POLICY)])

    excluded = [
        expression["values"]
        for document in yaml.safe_load_all(answer.output)
        for expression in document["spec"]
        .get("matchResources", {})
        .get("namespaceSelector", {})
        .get("matchExpressions", [])
        if expression["key"] == "kubernetes.io/metadata.name"
    ]
    assert excluded
    assert all(values == ["kube-system", "placement"] for values in excluded)


def test_a_broken_policy_exits_with_2_and_one_line(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("kind: Pod\n")

    answer = CliRunner().invoke(cli.main, ["policy", "export", str(policy)])

    assert answer.exit_code == 2
    assert len(answer.output.splitlines()) == 1


def test_what_cel_cannot_take_is_told_with_its_file(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.read_text().replace("- key: custom\n", "- key: custom\n    pattern: 'a\\C'\n"))

    answer = CliRunner().invoke(cli.main, ["policy", "export", str(policy)])

    assert answer.exit_code == 2
    assert answer.output.startswith(f"Error: {policy}: spec.requiredLabels[0].pattern is a\\C; ")
