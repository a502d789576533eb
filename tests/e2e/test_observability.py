"""Alerts and dashboard name what the webhook, the binder and the API server really show; and so does kube-scheduler."""

from __future__ import annotations

import base64
import json
import re
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
import urllib3
from prometheus_client import Metric

from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from devcluster.ops import ask_ops
from tests.e2e.objects import get, pod, scheduled_condition
from tests.e2e.scrapes import Scrape, api_server_metrics, families, kept, kube_scheduler, target
from tests.e2e.test_binder_command import Binder
from tests.promql.engine import Series, evaluate
from tests.promql.faults import name_faults
from tests.promql.observability import alerts, panel_queries
from tests.waiting import eventually

# A control plane, two schedulers and a webhook that is started twice, on a machine that has other things to do.
pytestmark = pytest.mark.timeout(300)

NAMESPACE = "observed"
CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/custom-scheduler"
OPT_IN = {"custom": "web", "custom-scheduler.io/opt-in": "true"}
BREAKING_PLUGIN = """
from webhook.scheduling.registry import plugin

@plugin("Breaks")
class Breaks:
    def __init__(self, args, handle):
        pass

    def filter_node(self, pod, node):
        raise RuntimeError("as it has to")
"""
PROFILES = """
apiVersion: custom-scheduler.io/v1alpha1
kind: SchedulerConfiguration
pluginSources: [{directory: DIRECTORY}]
profiles:
- schedulerName: custom-scheduler
- {schedulerName: broken, plugins: {multiPoint: {enabled: [{name: Breaks}]}}}
"""


@dataclass(frozen=True)
class Observed:
    """What was scraped of all programs before and after some of everything had happened, and kube-scheduler's."""

    series: list[Series]
    binder: str
    theirs: str

    @property
    def labels(self) -> list[dict[str, str]]:
        return [each.labels for each in self.series]


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    folder = tmp_path_factory.mktemp("observed")
    (folder / "plugins").mkdir()
    (folder / "plugins/breaks.py").write_text(BREAKING_PLUGIN)
    configuration = folder / "scheduler.yaml"
    configuration.write_text(PROFILES.replace("DIRECTORY", str(folder / "plugins")))
    with ExitStack() as stack:
        cluster = stack.enter_context(DevCluster(nodes=0, scheduler=False))
        theirs = stack.enter_context(kube_scheduler(cluster, folder))
        cluster.add_nodes(["node-1", "node-2"], labels={"custom": "yes"})
        installation = stack.enter_context(Installation(cluster, options=["--no-binder"]))
        kubeconfig = cluster.service_account_kubeconfig("custom-scheduler", "custom-scheduler")
        binder = Binder(kubeconfig, folder / "binder.log", "--scheduler-config", str(configuration))
        stack.callback(binder.process.wait, 30)
        stack.callback(binder.process.terminate)
        eventually(binder.ready)
        cluster.add_namespace(NAMESPACE, labels={"custom-scheduler.io/enforce": "deny"})

        fail_open_and_closed(cluster, installation)
        before = scrape(cluster, installation, binder)
        use(cluster, installation)
        eventually(partial(has_handed_over, binder), "what the binder hands over once a second")
        after = scrape(cluster, installation, binder)
        yield Observed(kept(before, after), after[1].text, theirs())


def scrape(cluster: DevCluster, installation: Installation, binder: Binder) -> list[Scrape]:
    return [
        Scrape(installation.ops("/metrics")[1], target("webhook-1", "webhook")),
        Scrape(ask_ops(binder.ops_port, "/metrics")[1], target("binder-1", "binder")),
        api_server_metrics(cluster),
    ]


def has_handed_over(binder: Binder) -> bool:
    _, metrics = ask_ops(binder.ops_port, "/metrics")
    return all(
        f"\n{name}{{" in metrics
        for name in (
            "scheduler_unschedulable_pods",
            "scheduler_framework_extension_point_duration_seconds_sum",
            "scheduler_plugin_evaluation_total",
        )
    )


def fail_open_and_closed(cluster: DevCluster, installation: Installation) -> None:
    """Let the API server call a webhook that is down, with both failure policies."""
    installation.stop()
    configuration = cluster.request("GET", CONFIGURATION)
    cluster.kubectl("apply", "-f", "-", input=pod(NAMESPACE, "passed-unjudged"))
    configuration["webhooks"][0]["failurePolicy"] = "Fail"
    configuration = cluster.request("PUT", CONFIGURATION, configuration)
    eventually(lambda: "failed calling webhook" in refusal(cluster), "failurePolicy Fail to be in force")
    configuration["webhooks"][0]["failurePolicy"] = "Ignore"
    cluster.request("PUT", CONFIGURATION, configuration)
    installation.start()
    installation.wait_ready()


def refusal(cluster: DevCluster) -> str:
    return cluster.kubectl(
        "apply", "--dry-run=server", "-f", "-", input=pod(NAMESPACE, "refused"), check=False
    ).stderr


def use(cluster: DevCluster, installation: Installation) -> None:
    """Have pods denied, placed, held and failed by both schedulers, and a request that is none."""
    eventually(lambda: "Pod must have custom label" in refusal(cluster), "a denial")
    send_nonsense(cluster, installation)
    create = partial(cluster.request, "POST", f"/api/v1/namespaces/{NAMESPACE}/pods")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(create, map(json.loads, pods())))
    for name in ("custom-scheduler-small", "default-scheduler-small", "steered", "crowd-79"):
        eventually(partial(node_of, cluster, name), f"{name} on a node")
    for name in ("custom-scheduler-big", "default-scheduler-big", "failing"):
        eventually(partial(condition_of, cluster, name), f"the condition of {name}")


def pods() -> Iterator[str]:
    """Yield pods of which some are placed, some fit nowhere, some are held and one fails."""
    for scheduler in ("custom-scheduler", "default-scheduler"):
        wants: dict[str, Any] = {"labels": {"custom": "web"}, "schedulerName": scheduler}
        yield pod(NAMESPACE, f"{scheduler}-small", **wants)
        yield pod(NAMESPACE, f"{scheduler}-big", cpu="64", **wants)
        yield pod(NAMESPACE, f"{scheduler}-held", schedulingGates=[{"name": "example.com/hold"}], **wants)
    # kube-scheduler times its plugins for one pod in ten, drawn at random.
    for number in range(80):
        yield pod(NAMESPACE, f"crowd-{number}", cpu="1m", labels={"custom": "web"})
    yield pod(NAMESPACE, "steered", labels=OPT_IN)
    yield pod(NAMESPACE, "failing", labels={"custom": "web"}, schedulerName="broken")


def send_nonsense(cluster: DevCluster, installation: Installation) -> None:
    bundle = cluster.request("GET", CONFIGURATION)["webhooks"][0]["clientConfig"]["caBundle"]
    context = ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
    with urllib3.HTTPSConnectionPool("localhost", installation.port, ssl_context=context) as pool:
        answer = pool.request("POST", "/validate", body="{", headers={"Content-Type": "application/json"})
        assert answer.status == 400


def node_of(cluster: DevCluster, name: str) -> object:
    return get(cluster, "pod", NAMESPACE, name)["spec"].get("nodeName")


def condition_of(cluster: DevCluster, name: str) -> object:
    return scheduled_condition(get(cluster, "pod", NAMESPACE, name))


def test_the_alerts_name_nothing_that_is_not_there(observed: Observed) -> None:
    assert name_faults([alert.expr for alert in alerts().values()], observed.labels) == []


def test_the_dashboard_names_nothing_that_is_not_there(observed: Observed) -> None:
    assert name_faults([expression for _, expression, _ in panel_queries()], observed.labels) == []


def test_every_panel_shows_something_under_a_legend_that_it_can_fill(observed: Observed) -> None:
    queries = panel_queries()
    answers = evaluate([expression for _, expression, _ in queries], observed.series, step=30)

    empty = [title for (title, _, _), answer in zip(queries, answers, strict=True) if not answer.series]
    unfilled = [
        (title, label)
        for (title, _, legend), answer in zip(queries, answers, strict=True)
        for label in re.findall(r"{{(\w+)}}", legend)
        if not any(label in each.labels for each in answer.series)
    ]
    assert (empty, unfilled) == ([], [])


def edges(family: Metric) -> set[float]:
    # 1 and 1.0 are the same to Prometheus.
    return {float(sample.labels["le"]) for sample in family.samples if sample.name.endswith("_bucket")}


def label_names(family: Metric) -> set[str]:
    return {name for sample in family.samples for name in sample.labels if name != "le"}


def shape(family: Metric) -> dict[str, object]:
    return {"type": family.type, "labels": label_names(family), "buckets": edges(family)}


def test_what_bears_kube_schedulers_names_is_what_kube_scheduler_shows(observed: Observed) -> None:
    ours = {
        name: shape(family)
        for name, family in families(observed.binder).items()
        if name.startswith("scheduler_") and family.samples
    }
    theirs = {name: shape(family) for name, family in families(observed.theirs).items()}

    assert len(ours) >= 10
    assert ours == {name: theirs.get(name) for name in ours}


def values(text: str, metric: str, label: str) -> set[str]:
    return {sample.labels[label] for sample in families(text)[metric].samples if label in sample.labels}


@pytest.mark.parametrize(
    ("metric", "label"),
    [
        ("scheduler_schedule_attempts", "result"),
        ("scheduler_pending_pods", "queue"),
        ("scheduler_cache_size", "type"),
        ("scheduler_plugin_execution_duration_seconds", "extension_point"),
        ("scheduler_framework_extension_point_duration_seconds", "extension_point"),
        ("scheduler_framework_extension_point_duration_seconds", "status"),
        ("scheduler_plugin_evaluation", "extension_point"),
    ],
)
def test_a_label_has_kube_schedulers_values(observed: Observed, metric: str, label: str) -> None:
    # What happens in both: kube-scheduler meets no error here, and has queues and extension points that we lack.
    beyond = values(observed.binder, metric, label) - values(observed.theirs, metric, label)

    assert beyond <= {"error", "Error", "PreEnqueue"}


SCRAPED = [
    {"__name__": "scheduler_pending_pods", "queue": "active", "job": "custom-scheduler"},
    {"__name__": "scheduler_pending_pods", "queue": "gated", "job": "custom-scheduler"},
]


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ('scheduler_pending_pod{queue="active"}', "no metric scheduler_pending_pod"),
        ('scheduler_pending_pods{que="active"}', "scheduler_pending_pods has no label que"),
        ('scheduler_pending_pods{queue="activ"}', "scheduler_pending_pods has no queue=activ"),
        ('scheduler_pending_pods{queue!="activ"}', "scheduler_pending_pods has no queue=activ"),
        ('scheduler_pending_pods{queue=~"act|gate"}', "scheduler_pending_pods has no queue like act|gate"),
        ("sum by (que) (scheduler_pending_pods)", "scheduler_pending_pods has no label que"),
        (
            "scheduler_pending_pods + on (que) scheduler_pending_pods",
            "scheduler_pending_pods has no label que",
        ),
        ("rat(scheduler_pending_pods[5m])", "unknown function"),
        ("rate(scheduler_pending_pods)", "expected type range vector"),
        ("sum by (queue) (scheduler_pending_pods", "unclosed left parenthesis"),
    ],
)
def test_a_misspelt_name_is_found(expression: str, fault: str) -> None:
    found = name_faults([expression], SCRAPED)

    assert found
    assert all(fault in each for each in found), json.dumps(found)


def test_what_is_spelt_right_is_no_fault() -> None:
    expression = 'sum by (queue) (scheduler_pending_pods{queue=~"act.*",job="custom-scheduler"})'

    assert name_faults([expression], SCRAPED) == []
