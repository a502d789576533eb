"""What manifests/observability promises, as far as no cluster is needed to see it."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.manifests.test_manifests import VARIANTS, build, of_kind
from tests.promql.observability import Alert, alerts, dashboard, panel_queries

GUIDE = Path(__file__).parents[2] / "docs/operations.md"
OPERATORS_GROUP = "monitoring.coreos.com"


def sections() -> dict[str, str]:
    """Return the sections about alerts, by their heading."""
    text = GUIDE.read_text().split("\n## Alerts\n")[1].split("\n## ")[0]
    parts = re.split(r"^### (.+)$", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_each_alert_has_its_section_and_each_section_its_alert() -> None:
    assert set(sections()) == set(alerts())


@pytest.mark.parametrize("alert", alerts().values(), ids=lambda alert: alert.name)
def test_an_alert_says_what_it_is_and_where_to_read_on(alert: Alert) -> None:
    section = sections()[alert.name]

    assert set(alert.annotations) == {"summary", "description", "runbook"}
    assert alert.annotations["runbook"] == f"docs/operations.md#{alert.name.lower()}"
    assert alert.labels["severity"] in ("warning", "critical")
    assert "\n- Look at: " in section
    assert "\n- Mend: " in section


def test_links_to_other_sections_lead_somewhere() -> None:
    text = GUIDE.read_text()
    headings = {
        re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }

    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings
    assert set(re.findall(r"\bCustomScheduler[A-Z]\w+", text)) == set(alerts())


def test_panels_have_an_id_and_a_place_of_their_own() -> None:
    panels = dashboard()["panels"]

    assert len({panel["id"] for panel in panels}) == len(panels)
    assert [
        (one["title"], other["title"]) for one, other in combinations(panels, 2) if overlap(one, other)
    ] == []


def overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    a, b = one["gridPos"], other["gridPos"]
    return bool(
        a["x"] < b["x"] + b["w"]
        and b["x"] < a["x"] + a["w"]
        and a["y"] < b["y"] + b["h"]
        and b["y"] < a["y"] + a["h"]
    )


def test_every_query_goes_to_the_data_source_that_is_chosen_above_the_panels() -> None:
    (variable,) = dashboard()["templating"]["list"]
    asked = {
        json.dumps(place["datasource"])
        for panel in dashboard()["panels"]
        if panel["type"] != "row"
        for place in [panel, *panel["targets"]]
    }

    assert (variable["name"], variable["type"], variable["query"]) == (
        "datasource",
        "datasource",
        "prometheus",
    )
    assert asked == {json.dumps({"type": "prometheus", "uid": "${datasource}"})}


def test_no_macro_or_variable_of_grafana_is_left_unknown_to_the_tests() -> None:
    assert [expression for _, expression, _ in panel_queries() if "$" in expression] == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_installation_needs_no_crd_of_the_prometheus_operator(variant: str) -> None:
    assert not [each for each in build(variant) if OPERATORS_GROUP in each["apiVersion"]]


@pytest.mark.parametrize("variant", ["base", "overlays/single"])
def test_the_monitor_selects_every_pod_of_ours_at_a_port_that_it_has(variant: str) -> None:
    (monitor,) = of_kind("observability", "PodMonitor")
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    selected = monitor["spec"]["selector"]["matchLabels"].items()

    for deployment in of_kind(variant, "Deployment"):
        template = deployment["spec"]["template"]
        (container,) = template["spec"]["containers"]
        assert deployment["metadata"]["namespace"] == monitor["metadata"]["namespace"]
        assert selected <= template["metadata"]["labels"].items()
        assert endpoint["port"] in [port["name"] for port in container["ports"]]


def test_the_monitor_gives_the_job_that_the_queries_ask_for() -> None:
    (monitor,) = of_kind("observability", "PodMonitor")
    (relabeling,) = monitor["spec"]["podMetricsEndpoints"][0]["relabelings"]
    queries = [expression for _, expression, _ in panel_queries()]
    queries += [alert.expr for alert in alerts().values()]

    assert relabeling["targetLabel"] == "job"
    assert set(re.findall(r'job="([^"]+)"', " ".join(queries))) == {relabeling["replacement"]}


def test_what_kube_scheduler_shows_too_is_asked_of_our_job_alone() -> None:
    queries = [expression for _, expression, _ in panel_queries()]
    queries += [alert.expr for alert in alerts().values()]
    shared = re.findall(r"\b(?:scheduler|leader_election|process)_\w+(?:{[^}]*})?", " ".join(queries))

    assert len(shared) > 20
    assert [selector for selector in shared if 'job="custom-scheduler"' not in selector] == []


def test_the_dashboard_gets_to_grafanas_sidecar_as_it_is() -> None:
    (config_map,) = of_kind("observability", "ConfigMap")

    assert config_map["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(config_map["data"]["custom-scheduler.json"]) == dashboard()
