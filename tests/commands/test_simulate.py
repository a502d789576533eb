from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.inspect.test_world import answer as cluster_answer
from tests.kube.fakeapi import FakeApi, authority
from webhook import cli


def node(name: str, *, cpu: str = "4", **labels: str) -> dict[str, Any]:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels},
        "status": {"allocatable": allocatable},
    }


def pod(name: str, *, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}"},
        "spec": {"schedulerName": "custom-scheduler", "containers": containers, **spec},
    }


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    nodes = [node("big", cpu="8"), node("small", cpu="2"), node("tiny", cpu="500m")]
    pods = [pod("waiting"), pod("placed", nodeName="big", cpu="6")]
    return saved(tmp_path, nodes, pods)


def saved(folder: Path, nodes: list[dict[str, Any]], pods: list[dict[str, Any]]) -> Path:
    file = folder / "snapshot.json"
    lists = [{"kind": "NodeList", "items": nodes}, {"kind": "PodList", "items": pods}]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": lists}))
    return file


def written(folder: Path, *pods: dict[str, Any]) -> Path:
    file = folder / "pods.json"
    file.write_text("\n---\n".join(map(json.dumps, pods)))
    return file


def simulate(*arguments: str | Path, stdin: str = "") -> Result:
    return CliRunner().invoke(cli.main, ["simulate", *map(str, arguments)], input=stdin)


def told(*arguments: str | Path) -> list[dict[str, Any]]:
    answer = simulate("-o", "json", *arguments)
    assert answer.stderr == ""
    return [json.loads(line) for line in answer.stdout.splitlines()]


def test_json_has_each_node_with_its_reasons_or_its_weighted_scores(snapshot: Path) -> None:
    (found,) = told("shop/waiting", "--snapshot", snapshot)

    assert list(found) == ["pod", "node", "message", "rankingFault", "nodes"]
    assert (found["pod"], found["message"], found["rankingFault"]) == ("shop/waiting", "", None)
    first, second, last = found["nodes"]
    assert found["node"] == first["name"]
    assert {first["name"], second["name"]} == {"big", "small"}
    assert first["feasible"]
    assert first["reasons"] == []
    assert first["total"] == sum(first["scores"].values()) >= second["total"]
    assert last == {
        "name": "tiny",
        "feasible": False,
        "reasons": ["Insufficient cpu"],
        "scores": {},
        "total": 0,
    }


def test_a_pod_that_fits_nowhere_has_no_node_the_conditions_message_and_exit_code_1(
    snapshot: Path, tmp_path: Path
) -> None:
    file = written(tmp_path, pod("huge", cpu="100"))

    answer = simulate("-f", file, "--snapshot", snapshot, "-o", "json")

    assert answer.exit_code == 1
    found = json.loads(answer.stdout)
    assert found["node"] is None
    assert found["message"] == "0/3 nodes are available: 3 Insufficient cpu."


def test_a_pod_that_has_its_node_is_decided_on_as_if_it_were_not_there(snapshot: Path) -> None:
    (found,) = told("shop/placed", "--snapshot", snapshot)

    assert found["node"] == "big"


def test_several_pods_are_one_line_each_and_each_counts_for_the_next(snapshot: Path, tmp_path: Path) -> None:
    file = written(tmp_path, *(pod(f"web-{number}", cpu="2") for number in range(3)))

    found = told("-f", file, "--snapshot", snapshot)

    assert [each["pod"] for each in found] == ["shop/web-0", "shop/web-1", "shop/web-2"]
    assert {found[0]["node"], found[1]["node"]} == {"big", "small"}
    assert found[2]["node"] is None


def test_a_standard_input_that_the_shell_closed_is_told(snapshot: Path) -> None:
    answer = subprocess.run(
        ["sh", "-c", '"$0" -m webhook simulate -f - --snapshot "$1" <&-', sys.executable, snapshot],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert answer.returncode == 2
    assert answer.stderr.startswith("Error: -: standard input is closed")


def test_a_null_is_as_good_as_no_field(snapshot: Path, tmp_path: Path) -> None:
    nulls: dict[str, Any] = dict.fromkeys(
        ("nodeSelector", "tolerations", "volumes", "initContainers", "resources", "hostNetwork", "affinity")
    )
    sparse = pod("sparse", **nulls, topologySpreadConstraints=None)
    sparse["spec"]["containers"][0] |= {
        "ports": None,
        "resources": {"limits": None, "requests": {"cpu": None}},
    }
    sparse["metadata"] |= dict.fromkeys(("namespace", "labels", "annotations", "creationTimestamp"))
    sparse["status"] = None

    (found,) = told("-f", written(tmp_path, sparse), "-n", "shop", "--snapshot", snapshot)

    assert found["pod"] == "shop/sparse"
    assert {each["name"] for each in found["nodes"] if each["feasible"]} == {"big", "small", "tiny"}


def test_a_null_in_a_node_selector_is_an_empty_value(snapshot: Path, tmp_path: Path) -> None:
    picky = pod("picky", nodeSelector={"disk": None})

    (found,) = told("-f", written(tmp_path, picky), "--snapshot", snapshot)

    assert found["node"] is None


def test_a_pod_that_is_nested_too_deeply_is_told_on_one_line(snapshot: Path, tmp_path: Path) -> None:
    deep: Any = None
    for _ in range(900):
        deep = {"x": deep}

    answer = simulate("-f", written(tmp_path, pod("deep", affinity=deep)), "--snapshot", snapshot)

    assert answer.exit_code == 2
    assert "nested too deeply" in answer.stderr


def test_pods_whose_names_are_to_be_generated_are_told_apart(snapshot: Path, tmp_path: Path) -> None:
    pods = [pod("x", cpu="2"), pod("x", cpu="2")]
    for each in pods:
        each["metadata"] = {"generateName": "web-"}

    found = told("-f", written(tmp_path, *pods), "-n", "shop", "--snapshot", snapshot)

    assert [each["pod"] for each in found] == ["shop/web-*", "shop/web-*"]
    assert {each["node"] for each in found} == {"big", "small"}


def test_text_names_the_node_the_plugins_and_the_reasons(snapshot: Path) -> None:
    answer = simulate("waiting", "-n", "shop", "--snapshot", snapshot)

    assert answer.exit_code == 0
    assert "shop/waiting would go to " in answer.stdout
    assert "TOTAL" in answer.stdout
    (refused,) = (line.split(maxsplit=1) for line in answer.stdout.splitlines() if line.startswith("tiny"))
    assert refused == ["tiny", "NodeResourcesFit: Insufficient cpu"]
    assert "\x1b" not in answer.stdout


def test_text_is_bounded_and_says_what_is_left_out(tmp_path: Path) -> None:
    nodes = [node(f"node-{number:04}", cpu="4" if number % 2 else "1") for number in range(3000)]
    file = saved(tmp_path, nodes, [pod("web", cpu="2")])

    answer = simulate("shop/web", "--snapshot", file, "--limit", "5")

    assert "one of 1,500 that share the highest total" in answer.stdout
    assert "and 1,495 more feasible nodes" in answer.stdout
    assert "and 1,495 more nodes that are refused" in answer.stdout
    assert "Refused 1,500: NodeResourcesFit: Insufficient cpu 1,500" in answer.stdout
    assert len(answer.stdout.splitlines()) < 30


def test_a_pod_of_another_scheduler_is_decided_on_and_that_is_said(snapshot: Path, tmp_path: Path) -> None:
    file = written(tmp_path, pod("web", schedulerName="default-scheduler"))

    answer = simulate("-f", file, "--snapshot", snapshot)

    assert answer.exit_code == 0
    assert (
        "Its schedulerName is default-scheduler; this is the answer of profile custom-scheduler"
        in answer.stdout
    )


def test_the_configurations_profile_decides(snapshot: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: custom-scheduler.io/v1alpha1\nkind: SchedulerConfiguration\n"
        "profiles: [{plugins: {filter: {disabled: [{name: NodeResourcesFit}]}}}]\n"
    )
    file = written(tmp_path, pod("huge", cpu="100"))

    answer = simulate("-f", file, "--snapshot", snapshot, "--scheduler-config", config)

    assert answer.exit_code == 0


def test_plugins_are_closed_after_the_last_decision(snapshot: Path, tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "talking.py").write_text(
        "from webhook.scheduling.registry import plugin\n"
        "@plugin('Talking')\n"
        "class Talking:\n"
        "    def filter_node(self, pod, node): print('asked')\n"
        "    def close(self): print('closed')\n"
    )
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: custom-scheduler.io/v1alpha1\nkind: SchedulerConfiguration\n"
        f"pluginSources: [{{directory: {tmp_path / 'plugins'}}}]\n"
        "profiles: [{plugins: {multiPoint: {enabled: [{name: Talking}]}}}]\n"
    )
    file = written(tmp_path, pod("web"))

    answer = simulate("-f", file, "--snapshot", snapshot, "--scheduler-config", config)

    said = [line for line in answer.stdout.splitlines() if line in ("asked", "closed")]
    assert (said[0], said[-1], said.count("closed")) == ("asked", "closed", 1)


def test_standard_input_is_read_for_a_dash(snapshot: Path) -> None:
    answer = simulate("-f", "-", "--snapshot", snapshot, stdin=json.dumps(pod("web")))

    assert "shop/web would go to" in answer.stdout


def test_a_pod_that_is_being_deleted_gets_no_node(tmp_path: Path) -> None:
    going = pod("going")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    answer = simulate("shop/going", "--snapshot", saved(tmp_path, [node("a")], [going]))

    assert answer.exit_code == 1
    assert "the pod is being deleted" in answer.stdout


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ([], "no pod is given; name a POD of the cluster, or a manifest with -f FILE"),
        (["shop/web", "-f", "x.yaml"], "both POD and -f FILE are given"),
        (["a/b/c", "--snapshot", "SNAPSHOT"], "expected NAMESPACE/POD"),
        (["/web", "--snapshot", "SNAPSHOT"], "expected NAMESPACE/POD"),
        (["shop/web", "-n", "other", "--snapshot", "SNAPSHOT"], "another namespace than -n other"),
        (["shop/nobody", "--snapshot", "SNAPSHOT"], "pod shop/nobody: not found"),
        (["shop/web", "--snapshot", "SNAPSHOT", "--save-snapshot", "x"], "nothing to save"),
        (["-f", "gone.yaml", "--snapshot", "SNAPSHOT"], "gone.yaml: can't be read"),
        (["shop/waiting", "--snapshot", "gone.json"], "gone.json: can't be read"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(snapshot: Path, arguments: list[str], fault: str) -> None:
    answer = simulate(*(str(snapshot) if each == "SNAPSHOT" else each for each in arguments))

    assert answer.exit_code == 2
    assert fault in answer.stderr
    assert answer.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("manifest", "fault"),
    [
        ('{"kind": "Service", "apiVersion": "v1"}', "has no Pod in it"),
        ("kind: x\n", "is no Kubernetes object"),
        (json.dumps(pod("web", containers=3)), "Pod web: Expected `array | null`, got `int`"),
        (json.dumps(pod("web", cpu="much")), "Pod web: 'much'"),
    ],
)
def test_a_manifest_that_is_no_pod_is_told(snapshot: Path, manifest: str, fault: str) -> None:
    answer = simulate("-f", "-", "--snapshot", snapshot, stdin=manifest)

    assert answer.exit_code == 2
    assert fault in answer.stderr
    assert answer.stderr.count("\n") == 1


GANG = """
from webhook.scheduling.registry import plugin
from webhook.scheduling.status import SUCCESS


@plugin("Gang")
class Gang:
    def reserve(self, pod, node_name):
        raise AssertionError

    def unreserve(self, pod, node_name):
        raise AssertionError

    def permit(self, pod, node_name):
        raise AssertionError
"""


def using(folder: Path, name: str, text: str) -> Path:
    """Return a configuration with the plugin of this text."""
    plugins, config = folder / "plugins", folder / "config.yaml"
    plugins.mkdir()
    (plugins / "a.py").write_text(text)
    config.write_text(
        "apiVersion: custom-scheduler.io/v1alpha1\n"
        "kind: SchedulerConfiguration\n"
        f"pluginSources: [{{directory: {plugins}}}]\n"
        f"profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: {name}}}]}}}}}}]\n"
    )
    return config


def test_plugins_that_act_once_a_node_is_chosen_are_not_asked_and_named(
    snapshot: Path, tmp_path: Path
) -> None:
    config = using(tmp_path, "Gang", GANG)

    found = simulate("shop/waiting", "--snapshot", snapshot, "--scheduler-config", config)

    assert found.exit_code == 0
    assert "Not asked, as they act once a node is chosen: Reserve of Gang, Permit of Gang" in found.stdout
    assert "Not asked" not in simulate("shop/waiting", "--snapshot", snapshot).stdout


LAVISH = """
from webhook.scheduling.registry import plugin


@plugin("Lavish")
class Lavish:
    def score_node(self, pod, node):
        return 1000 if node.name == "small" else 1
"""
LAVISH_FAULT = "plugin Lavish failed in score: score 1000.0 of node small is not between 0 and 100"


def test_a_ranking_that_a_plugin_broke_off_is_printed_without_totals(snapshot: Path, tmp_path: Path) -> None:
    config = using(tmp_path, "Lavish", LAVISH)

    found = simulate("shop/waiting", "--snapshot", snapshot, "--scheduler-config", config)

    assert found.exit_code == 1
    lines = found.stdout.splitlines()
    assert f"No total, as the ranking broke off: {LAVISH_FAULT}" in lines
    totals = {line.split()[0]: line.split()[-1] for line in lines if line.startswith(("big", "small"))}
    assert totals == {"big": "-", "small": "-"}


def test_json_tells_at_which_plugin_the_ranking_broke_off(snapshot: Path, tmp_path: Path) -> None:
    config = using(tmp_path, "Lavish", LAVISH)

    (found,) = told("shop/waiting", "--snapshot", snapshot, "--scheduler-config", config)

    assert found["rankingFault"] == {"plugin": "Lavish", "message": LAVISH_FAULT}
    assert {each["name"]: each["total"] for each in found["nodes"]} == {"big": None, "small": None, "tiny": 0}


EVICTOR = """
from webhook.scheduling.registry import plugin


@plugin("Evictor")
class Evictor:
    def post_filter(self, pod, nodes, diagnosis):
        raise AssertionError
"""


def test_plugins_that_act_where_nothing_fits_are_not_asked_and_named(snapshot: Path, tmp_path: Path) -> None:
    config = using(tmp_path, "Evictor", EVICTOR)
    huge = written(tmp_path, pod("huge", cpu="100"))

    found = simulate("-f", huge, "--snapshot", snapshot, "--scheduler-config", config)

    assert found.exit_code == 1
    assert "would stay pending: 0/3 nodes are available: 3 Insufficient cpu.\n" in found.stdout
    assert "Not asked, as they act where no node is feasible: PostFilter of Evictor" in found.stdout
    assert "Not asked" not in simulate("-f", huge, "--snapshot", snapshot).stdout
    fits = simulate("shop/waiting", "--snapshot", snapshot, "--scheduler-config", config)
    assert "Not asked" not in fits.stdout


def test_a_pod_of_a_file_gets_what_its_namespace_and_class_give(snapshot: Path, tmp_path: Path) -> None:
    lists = json.loads(snapshot.read_text())
    limits = [{"type": "Container", "defaultRequest": {"cpu": "99"}}]
    of_shop = {"metadata": {"name": "lr", "namespace": "shop"}, "spec": {"limits": limits}}
    high = {"metadata": {"name": "high"}, "value": 7}
    lists["items"] += [
        {"kind": "LimitRangeList", "items": [of_shop]},
        {"kind": "PriorityClassList", "items": [high]},
    ]
    snapshot.write_text(json.dumps(lists))
    silent = {**pod("silent"), "spec": {"containers": [{"name": "main"}]}}
    strange = pod("strange", priorityClassName="low")

    (found,) = told("-f", written(tmp_path, silent), "--snapshot", snapshot)
    refused = simulate("-f", written(tmp_path, strange), "--snapshot", snapshot)

    assert found["message"] == "0/3 nodes are available: 3 Insufficient cpu."
    assert refused.exit_code == 2
    assert "Pod strange: no PriorityClass with name low was found; there are: high" in refused.stderr


def test_a_snapshot_can_be_saved_without_a_pod(tmp_path: Path) -> None:
    file, kubeconfig = tmp_path / "saved.json", tmp_path / "kubeconfig"
    with FakeApi(cluster_answer) as api:
        trust = base64.b64encode(authority().cert_pem.bytes()).decode()
        config = {
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [
                {
                    "name": "c",
                    "cluster": {
                        "server": f"https://127.0.0.1:{api.port}",
                        "certificate-authority-data": trust,
                    },
                }
            ],
            "users": [{"name": "u", "user": {"token": "sesame"}}],
        }
        kubeconfig.write_text(json.dumps(config))

        found = simulate("--kubeconfig", kubeconfig, "--save-snapshot", file)

    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout == f"Saved to {file}; decide on it with --snapshot {file}\n"
    (again,) = told("shop/web", "--snapshot", file)
    assert [node["name"] for node in again["nodes"]]
