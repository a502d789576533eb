from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from webhook import cli

POLICY = Path(__file__).parents[2] / "manifests/base/policy.yaml"
BARE = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: bare\n"
LABELLED = "apiVersion: v1\nkind: Pod\nmetadata: {name: fine, labels: {custom: web}}\n"


def check(*arguments: str | Path, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(cli.main, ["check", *map(str, arguments)], input=stdin)


def written(folder: Path, text: str, name: str = "m.yaml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_a_denial_is_told_with_its_place_and_exit_code_1(tmp_path: Path) -> None:
    file = written(tmp_path, BARE)

    answer = check(file, "--policy", POLICY)

    assert answer.exit_code == 1
    assert f"{file}:4: denied: Pod bare: Pod must have custom label" in answer.stdout
    assert answer.stderr == ""


def test_what_is_fine_says_so_in_one_line(tmp_path: Path) -> None:
    answer = check(written(tmp_path, LABELLED))

    assert answer.exit_code == 0
    assert answer.stdout == "1 judged by policy default, 0 would be denied, 0 would be warned about\n"


def test_standard_input_is_read_for_a_dash() -> None:
    assert "-:4: denied: Pod bare" in check("-", stdin=BARE).stdout


def test_several_files_are_one_answer(tmp_path: Path) -> None:
    first, second = written(tmp_path, BARE, "a.yaml"), written(tmp_path, LABELLED, "b.yaml")

    answer = check(first, second, first)

    assert answer.stdout.count("denied: ") == 1
    assert "2 judged" in answer.stdout


def test_broken_input_is_one_line_each_and_exit_code_2(tmp_path: Path) -> None:
    file = written(tmp_path, f"a: [\n---\n{BARE}---\nkind: x\n")

    answer = check(file, tmp_path / "absent.yaml")

    assert answer.exit_code == 2
    assert "denied: Pod bare" in answer.stdout
    assert [line.split(": ")[1] for line in answer.stderr.splitlines()] == [
        f"{file}:1",
        f"{file}:8",
        f"{tmp_path}/absent.yaml",
    ]


def test_nothing_at_all_is_not_a_pass() -> None:
    answer = check("-", stdin="# the command before the pipe failed\n")

    assert answer.exit_code == 2
    assert answer.stderr == "Error: -: no Kubernetes object in it\n"


@pytest.mark.parametrize(("labels", "code"), [("", 1), ("custom-scheduler.io/enforce=warn", 0)])
def test_a_namespace_enforces_unless_its_labels_say_otherwise(labels: str, code: int) -> None:
    assert check("-", "--namespace-labels", labels, stdin=BARE).exit_code == code


def test_a_namespace_is_not_exempt_unless_it_is_named() -> None:
    pod = BARE.replace("name: bare", "name: bare\n  namespace: kube-system")

    assert check("-", stdin=pod).exit_code == 1
    assert (
        check("-", "--namespace-labels", "kubernetes.io/metadata.name=kube-system", stdin=pod).exit_code == 0
    )


def test_an_opted_in_namespace_has_its_pods_steered(tmp_path: Path) -> None:
    policy = written(
        tmp_path,
        "apiVersion: custom-scheduler.io/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: strict}\n"
        "spec: {placement: {otherScheduler: Deny}}\n",
        "policy.yaml",
    )
    pod = LABELLED + "spec: {schedulerName: other}\n"

    alone = check("-", "--policy", policy, stdin=pod)
    steered = check(
        "-", "--policy", policy, "--namespace-labels", "custom-scheduler.io/opt-in=true", stdin=pod
    )

    assert alone.exit_code == 0
    assert "names another scheduler" in steered.stdout


@pytest.mark.parametrize("labels", ["enforce", "=x", "a=b c", "custom-scheduler.io/enforce=audit"])
def test_labels_that_are_none_are_refused(labels: str) -> None:
    answer = check("-", "--namespace-labels", labels, stdin=BARE)

    assert answer.exit_code == 2
    assert "--namespace-labels" in answer.stderr


def test_json_is_one_document_with_everything() -> None:
    answer = check("-", "-o", "json", stdin=f"{BARE}---\n{LABELLED}---\na: [\n")

    found = json.loads(answer.stdout)
    assert found["summary"] == {"judged": 2, "denied": 1, "warned": 0, "otherKinds": 0, "broken": 1}
    assert [result["outcome"] for result in found["results"]] == ["deny", "allow"]
    assert found["results"][0]["findings"][0]["field"] == "metadata.labels.custom"
    assert found["broken"][0]["source"] == "-"


def test_junit_is_one_document_with_everything() -> None:
    answer = check("-", "-o", "junit", stdin=BARE)

    root = ET.fromstring(answer.stdout.encode())  # noqa: S314 (what we wrote ourselves)
    assert (root.tag, root.get("failures")) == ("testsuites", "1")


def test_an_escape_sequence_in_a_name_does_not_reach_the_terminal() -> None:
    answer = check("-", stdin='{apiVersion: v1, kind: Pod, metadata: {name: "\\e[31mred"}}')

    assert "\x1b" not in answer.output
    assert "Pod \ufffd[31mred" in answer.stdout


def test_kustomizes_output_is_judged_and_its_other_kinds_are_passed_over() -> None:
    manifests = Path(__file__).parents[2] / "manifests/base"
    text = "\n---\n".join(file.read_text() for file in sorted(manifests.glob("webhook-*.yaml")))

    answer = check("-", stdin=text)

    assert answer.exit_code == 0
    assert "1 judged" in answer.stdout


def test_neither_flask_nor_the_kubernetes_client_is_loaded() -> None:
    program = (
        "import sys; from click.testing import CliRunner; from webhook.cli import main; "
        "CliRunner().invoke(main, ['check', '-'], input='{}'); print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=30
    ).stdout.split()

    assert "webhook.inspect.check" in loaded
    assert not {"flask", "kubernetes", "numpy", "gunicorn", "cryptography"} & set(loaded)


@pytest.mark.parametrize(
    ("redirection", "code"),
    [("<&-", 1), (">&-", 1), (">&- -o json", 1), (">&- -o junit", 1), ("2>&-", 1), ("- <&-", 2)],
)
def test_a_stream_that_the_shell_closed_changes_no_exit_code(
    tmp_path: Path, redirection: str, code: int
) -> None:
    file = written(tmp_path, BARE)

    answer = subprocess.run(
        ["sh", "-c", f'"$0" -m webhook check "$1" {redirection}', sys.executable, file],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert answer.returncode == code
    assert "Traceback" not in answer.stderr
