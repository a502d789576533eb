"""Steering by the default policy, and its check of what is not steered."""

from __future__ import annotations

from typing import Any

from tests.cases.builders import (
    CONTROLLER_MANAGER,
    CUSTOM,
    DAEMON_SET_CONTROLLER,
    LABELLED,
    NODE,
    ON_NODE_1,
    OPT_IN,
    OPTED_IN,
    PLACED_BY,
    ZONE_A,
    ZONE_B,
    owned,
    pod,
    required,
    requirement,
    term,
)
from tests.cases.case import Case, Json, Placement
from tests.cases.under_default_labels import MISSING


def by_default(affinity: Json | None = None, **others: Any) -> Placement:
    return Placement(
        scheduler="custom-scheduler",
        affinity=affinity or required(term(CUSTOM)),
        placed_by="default",
        **others,
    )


STEERING = [
    Case(name="pod that opted in", namespace="cases-free", object=pod(OPTED_IN), placed=by_default()),
    Case(name="pod that opted in and is enforced", object=pod(OPTED_IN), placed=by_default()),
    Case(
        name="pod of a namespace that opted in", namespace="cases-opted-in", object=pod(), placed=by_default()
    ),
    Case(
        name="pod that opted in twice",
        namespace="cases-opted-in",
        object=pod({OPT_IN: "true"}),
        placed=by_default(),
    ),
    Case(
        name="pod that said something else",
        namespace="cases-opted-in",
        object=pod({OPT_IN: "yes"}),
        placed=by_default(),
    ),
    Case(name="pod that said no", namespace="cases-opted-in", object=pod({OPT_IN: "false"})),
    Case(name="pod of kube-system that opted in", namespace="kube-system", object=pod(OPTED_IN)),
    Case(
        name="pod that is steered already",
        namespace="cases-free",
        object=pod(
            OPTED_IN,
            annotations={PLACED_BY: "default"},
            schedulerName="custom-scheduler",
            affinity=required(term(CUSTOM)),
        ),
    ),
    Case(
        name="pod with an annotation",
        namespace="cases-free",
        object=pod(OPTED_IN, annotations={"a/b": "c", PLACED_BY: "another"}),
        placed=by_default(),
    ),
    Case(
        name="pod with two terms",
        namespace="cases-free",
        object=pod(OPTED_IN, affinity=required(term(ZONE_A), term(ZONE_B, CUSTOM))),
        placed=by_default(required(term(ZONE_A, CUSTOM), term(ZONE_B, CUSTOM))),
    ),
    Case(
        name="pod with a term of fields",
        namespace="cases-free",
        object=pod(OPTED_IN, affinity=required(ON_NODE_1, term(ZONE_A))),
        placed=by_default(required(term(CUSTOM, **ON_NODE_1), term(ZONE_A, CUSTOM))),
    ),
    Case(
        name="pod with an empty term",
        namespace="cases-free",
        object=pod(OPTED_IN, affinity=required({}, term(ZONE_A))),
        placed=by_default(required({}, term(ZONE_A, CUSTOM))),
    ),
    Case(
        name="pod with an empty term alone",
        namespace="cases-free",
        object=pod(OPTED_IN, affinity=required({})),
        placed=by_default(required({})),
    ),
    Case(
        name="pod with an empty affinity",
        namespace="cases-free",
        object=pod(OPTED_IN, affinity={}),
        placed=by_default(),
    ),
    Case(
        name="pod with an empty node affinity",
        namespace="cases-free",
        object=pod(OPTED_IN, affinity={"nodeAffinity": {}}),
        placed=by_default(),
    ),
    Case(
        name="pod with another operator on the key",
        namespace="cases-free",
        object=pod(OPTED_IN, affinity=required(term(requirement("custom", "In", "a")))),
        placed=by_default(required(term(requirement("custom", "In", "a"), CUSTOM))),
    ),
    Case(
        name="pod of another scheduler", namespace="cases-free", object=pod(OPTED_IN, schedulerName="volcano")
    ),
    Case(
        name="pod of a DaemonSet",
        namespace="cases-opted-in",
        user=DAEMON_SET_CONTROLLER,
        object=owned(pod(affinity=required(ON_NODE_1)), "DaemonSet", "agent"),
    ),
    Case(
        name="pod of a DaemonSet where controllers have one account",
        namespace="cases-opted-in",
        user=CONTROLLER_MANAGER,
        object=owned(pod(affinity=required(ON_NODE_1)), "DaemonSet", "agent"),
    ),
    Case(
        name="pod of a Job where controllers have one account",
        namespace="cases-opted-in",
        user=CONTROLLER_MANAGER,
        object=owned(pod(), "Job", "once"),
        placed=by_default(),
    ),
    Case(
        name="pod that forges a DaemonSet",
        namespace="cases-opted-in",
        object=owned(pod(), "DaemonSet", "agent"),
        placed=by_default(),
    ),
    Case(
        name="pod with a node",
        namespace="cases-free",
        object=pod(OPTED_IN, nodeName="node-1"),
        warned=('Pod opted in but is not steered: spec.nodeName is "node-1"',),
    ),
    Case(
        name="pod with a node in an opted-in namespace",
        namespace="cases-opted-in-deny",
        object=pod(LABELLED, nodeName="node-1"),
        warned=('Pod opted in but is not steered: spec.nodeName is "node-1"',),
    ),
    Case(
        name="mirror pod of a user that opted in",
        namespace="cases-free",
        object=pod(OPTED_IN, annotations={"kubernetes.io/config.mirror": "1"}, nodeName="node-1"),
        warned=('Pod opted in but is not steered: spec.nodeName is "node-1"',),
    ),
    Case(
        name="mirror pod of a kubelet that opted in",
        namespace="cases-free",
        user=NODE,
        object=pod(OPTED_IN, annotations={"kubernetes.io/config.mirror": "1"}, nodeName="node-1"),
    ),
    Case(
        name="pod without the label with a node",
        object=pod({OPT_IN: "true"}, nodeName="node-1"),
        denied=MISSING,
        warned=('Pod opted in but is not steered: spec.nodeName is "node-1"',),
    ),
    Case(
        name="update of a pod that is not steered",
        namespace="cases-opted-in-deny",
        old=pod(LABELLED),
        object=pod({"custom": "web", OPT_IN: "true"}),
    ),
]
