"""A policy that overrides other schedulers, and one that asks for next to nothing."""

from __future__ import annotations

from tests.cases.builders import CUSTOM, OPTED_IN, PREFERRED, pod, term, workload
from tests.cases.case import Case, Placement
from tests.cases.under_default_labels import MISSING_SUMMARY

UNDER_OVERRIDE = [
    Case(
        name="override pod of another scheduler",
        policy="override",
        namespace="cases-opted-in",
        object=pod(schedulerName="volcano"),
        placed=Placement(
            scheduler="custom-scheduler",
            affinity={"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": term(CUSTOM)}]}},
            placed_by="override",
        ),
    ),
    Case(
        name="override pod that nothing steers",
        policy="override",
        namespace="cases-opted-in",
        object=pod(schedulerName="volcano"),
        mutators=False,
        denied='Pod opted in but is not steered: spec.schedulerName is "volcano". Allowed: custom-scheduler. Remove it',
    ),
    Case(
        name="override pod without two labels that warn",
        policy="override",
        object=pod(),
        warned=(MISSING_SUMMARY, "Pod must have owner label: metadata.labels.owner is missing"),
    ),
    Case(
        name="override Deployment without two labels that warn",
        policy="override",
        object=workload("Deployment", {"custom": "web"}),
        warned=("Pod must have owner label: spec.template.metadata.labels.owner is missing",),
    ),
]

UNDER_LAX = [
    Case(name="lax pod without the label", policy="lax", object=pod()),
    Case(name="lax Deployment without the label", policy="lax", object=workload("Deployment")),
    Case(
        name="lax pod that opted in",
        policy="lax",
        object=pod(OPTED_IN),
        placed=Placement(scheduler="custom-scheduler", placed_by="lax"),
    ),
    Case(name="lax pod with a node", policy="lax", object=pod(OPTED_IN, nodeName="node-1")),
]
