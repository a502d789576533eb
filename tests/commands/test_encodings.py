"""Names that the output's encoding doesn't have, in what people and what machines read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

POD = """
apiVersion: v1
kind: Pod
metadata: {name: wéb, labels: {custom: x}}
spec: {nodeName: n}
"""
POLICY = """
apiVersion: custom-scheduler.io/v1alpha1
kind: PlacementPolicy
metadata: {name: p}
spec: {requiredLabels: [{key: custom, message: où est le nœud}]}
"""
NODE = {"metadata": {"name": "n", "uid": "n"}, "status": {"allocatable": {"cpu": "4", "pods": "9"}}}
LISTS = [{"kind": "NodeList", "items": [NODE]}, {"kind": "PodList", "items": []}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "snapshot.json").write_text(json.dumps({"items": LISTS}))
    return tmp_path


def run(folder: Path, *arguments: str | bytes) -> tuple[int, bytes, bytes]:
    """Run our command where everything but ASCII is foreign."""
    done = subprocess.run(
        [sys.executable, "-m", "webhook", *arguments],
        capture_output=True,
        cwd=folder,
        timeout=60,
        check=False,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )
    return done.returncode, done.stdout, done.stderr


SIMULATE = ("simulate", "-f", "pod.yaml", "--snapshot", "snapshot.json")


def test_a_name_is_escaped_for_people(folder: Path) -> None:
    code, out, err = run(folder, *SIMULATE)

    assert (code, err) == (0, b"")
    assert out.startswith(rb"default/w\xe9b would go to n")


def test_a_name_is_itself_in_json(folder: Path) -> None:
    code, out, err = run(folder, *SIMULATE, "-o", "json")

    assert (code, err) == (0, b"")
    assert json.loads(out)["pod"] == "default/wéb"


def test_a_name_is_itself_in_xml(folder: Path) -> None:
    code, out, err = run(folder, "check", "pod.yaml", "-o", "junit")

    assert (code, err) == (0, b"")
    suites = fromstring(out)  # noqa: S314 (our own output)
    assert [case.get("name") for case in suites.iter("testcase")] == ["Pod wéb"]


def test_a_message_is_itself_in_what_an_api_server_reads(folder: Path) -> None:
    code, out, err = run(folder, "policy", "export", "policy.yaml")

    assert (code, err) == (0, b"")
    assert "où est le nœud" in out.decode()


def test_a_file_whose_name_is_in_no_encoding_is_judged(folder: Path) -> None:
    name = b"w\xffb.yaml"
    (folder / os.fsdecode(name)).write_text(POD)

    code, out, err = run(folder, "check", name, "-o", "json")

    assert (code, err) == (0, b"")
    assert json.loads(out)["results"][0]["name"] == "wéb"


def test_a_fault_that_quotes_such_a_name_is_told_on_one_line(folder: Path) -> None:
    code, _, err = run(folder, "simulate", "-f", b"w\xc3\xa9.yaml", "--snapshot", "snapshot.json")

    assert code == 2
    assert err.startswith(b"Error: w")
    assert err.count(b"\n") == 1
