"""What pods can have that makes them look at other pods, or share claims with them."""

from __future__ import annotations

from tests.conformance.features import Features, Sketch
from tests.conformance.furniture import APPS, CLAIMS, CONTROLLERS, NAMESPACES, TIERS, ZONE
from tests.conformance.model import Json

__all__ = ["NEIGHBOUR_FEATURES"]

NEIGHBOUR_FEATURES = Features()

_HOSTNAME = "kubernetes.io/hostname"
_KEYS = (ZONE, ZONE, _HOSTNAME, "rack")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _selector(sketch: Sketch) -> Json:
    apps = {"key": "app", "operator": sketch.one(("In", "NotIn")), "values": sketch.some(APPS)}
    return sketch.one(
        (
            {"matchLabels": {"app": sketch.labels["app"]}},
            {"matchLabels": {"app": sketch.one(APPS)}},
            {"matchLabels": {"tier": sketch.one(TIERS)}},
            {"matchExpressions": [apps]},
            {"matchExpressions": [{"key": "absent", "operator": sketch.one(("Exists", "DoesNotExist"))}]},
        )
    )


def _term(sketch: Sketch, **more: object) -> Json:
    return {"topologyKey": sketch.one(_KEYS), "labelSelector": _selector(sketch), **more}


def _add_term(sketch: Sketch, term: Json) -> None:
    """To one of the four lists."""
    side = sketch.one(("podAffinity", "podAntiAffinity"))
    terms = sketch.spec.setdefault("affinity", {}).setdefault(side, {})
    if sketch.one((True, False)):
        terms.setdefault(_REQUIRED, []).append(term)
    else:
        weighted = {"weight": sketch.rng.randint(1, 100), "podAffinityTerm": term}
        terms.setdefault(_PREFERRED, []).append(weighted)


def _require(sketch: Sketch, side: str) -> None:
    terms = sketch.spec.setdefault("affinity", {}).setdefault(side, {}).setdefault(_REQUIRED, [])
    terms += [_term(sketch) for _ in range(sketch.one((1, 1, 2)))]


def _prefer(sketch: Sketch, side: str) -> None:
    terms = sketch.spec.setdefault("affinity", {}).setdefault(side, {}).setdefault(_PREFERRED, [])
    terms += [
        {"weight": sketch.rng.randint(1, 100), "podAffinityTerm": _term(sketch)}
        for _ in range(sketch.one((1, 2)))
    ]


def _spread(sketch: Sketch, action: str, **more: object) -> None:
    constraints = sketch.spec.setdefault("topologySpreadConstraints", [])
    constraint = {
        "maxSkew": sketch.one((1, 1, 2, 3)),
        "topologyKey": sketch.one(_KEYS),
        "whenUnsatisfiable": action,
        "labelSelector": _selector(sketch),
        **more,
    }
    taken = [(each["topologyKey"], each["whenUnsatisfiable"]) for each in constraints]
    if (constraint["topologyKey"], action) not in taken:
        constraints.append(constraint)


def _some_spread(sketch: Sketch, **more: object) -> None:
    _spread(sketch, sketch.one(("DoNotSchedule", "ScheduleAnyway")), **more)


def _claim(sketch: Sketch, name: str) -> None:
    volumes = sketch.spec.setdefault("volumes", [])
    volumes.append({"name": f"v{len(volumes)}", "persistentVolumeClaim": {"claimName": name}})


@NEIGHBOUR_FEATURES.drawn(5)
def hard_spread(sketch: Sketch) -> None:
    _spread(sketch, "DoNotSchedule")


@NEIGHBOUR_FEATURES.drawn(5)
def soft_spread(sketch: Sketch) -> None:
    _spread(sketch, "ScheduleAnyway")


@NEIGHBOUR_FEATURES
def spread_over_two_keys(sketch: Sketch) -> None:
    action = sketch.one(("DoNotSchedule", "ScheduleAnyway"))
    _spread(sketch, action, topologyKey=ZONE)
    _spread(sketch, action, topologyKey=_HOSTNAME)


@NEIGHBOUR_FEATURES.drawn(5)
def spread_over_min_domains(sketch: Sketch) -> None:
    _spread(sketch, "DoNotSchedule", minDomains=sketch.one((2, 3, 5)), topologyKey=ZONE)


@NEIGHBOUR_FEATURES.drawn(5)
def spread_with_policies(sketch: Sketch) -> None:
    policies = {name: sketch.one(("Honor", "Ignore")) for name in ("nodeAffinityPolicy", "nodeTaintsPolicy")}
    _some_spread(sketch, **policies)
    # The policies bear on nodes that the pod can't go to.
    if sketch.one((True, False)):
        sketch.spec.setdefault("nodeSelector", {})["disk"] = "ssd"


@NEIGHBOUR_FEATURES
def spread_with_match_label_keys(sketch: Sketch) -> None:
    selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    _some_spread(sketch, labelSelector=selector, matchLabelKeys=sketch.some(("tier", "absent")))


@NEIGHBOUR_FEATURES
def spread_of_all_or_none(sketch: Sketch) -> None:
    _some_spread(sketch, labelSelector=sketch.one((None, {})))


@NEIGHBOUR_FEATURES.drawn(5)
def replica_of_a_controller(sketch: Sketch) -> None:
    kind = sketch.one(list(CONTROLLERS))
    owner = {
        "apiVersion": CONTROLLERS[kind],
        "kind": kind,
        "name": sketch.one(APPS),
        "uid": "any",
        "controller": sketch.one((True, True, False)),
    }
    sketch.manifest["metadata"]["ownerReferences"] = [owner]


@NEIGHBOUR_FEATURES
def replica_of_no_service(sketch: Sketch) -> None:
    # Without a Service that selects it, a pod gets no default spread.
    sketch.labels.update({"app": "cache", "tier": "back"})


@NEIGHBOUR_FEATURES.drawn(5)
def required_affinity(sketch: Sketch) -> None:
    _require(sketch, "podAffinity")


@NEIGHBOUR_FEATURES.drawn(5)
def required_anti_affinity(sketch: Sketch) -> None:
    _require(sketch, "podAntiAffinity")


@NEIGHBOUR_FEATURES.drawn(5)
def preferred_affinity(sketch: Sketch) -> None:
    _prefer(sketch, "podAffinity")


@NEIGHBOUR_FEATURES.drawn(5)
def preferred_anti_affinity(sketch: Sketch) -> None:
    _prefer(sketch, "podAntiAffinity")


@NEIGHBOUR_FEATURES
def affinity_to_itself(sketch: Sketch) -> None:
    # The first of its kind may go anywhere.
    sketch.labels["group"] = sketch.one(("g1", "g2"))
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"group": sketch.labels["group"]}}}
    sketch.spec.setdefault("affinity", {}).setdefault("podAffinity", {})[_REQUIRED] = [term]


@NEIGHBOUR_FEATURES
def affinity_in_namespaces(sketch: Sketch) -> None:
    _add_term(sketch, _term(sketch, namespaces=sketch.some(list(NAMESPACES))))


@NEIGHBOUR_FEATURES
def affinity_by_namespace_selector(sketch: Sketch) -> None:
    selector = sketch.one(
        (
            {},
            {"matchLabels": {"team": "red"}},
            {"matchExpressions": [{"key": "env", "operator": "DoesNotExist"}]},
            {"matchLabels": {"team": "green"}},
        )
    )
    _add_term(sketch, _term(sketch, namespaceSelector=selector))


@NEIGHBOUR_FEATURES
def affinity_with_match_label_keys(sketch: Sketch) -> None:
    keys = sketch.one(("matchLabelKeys", "mismatchLabelKeys"))
    selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    _add_term(sketch, _term(sketch, labelSelector=selector, **{keys: ["tier"]}))


@NEIGHBOUR_FEATURES
def bound_claim(sketch: Sketch) -> None:
    _claim(sketch, sketch.one(("claim-anywhere", "claim-of-csi-driver", "claim-on-ssd", "claim-off-zone-b")))


@NEIGHBOUR_FEATURES.drawn(5)
def claim_in_a_zone(sketch: Sketch) -> None:
    names = [name for name in CLAIMS if name.startswith("claim-in-")]
    for name in sketch.some(names, most=2):
        _claim(sketch, name)


@NEIGHBOUR_FEATURES.drawn(5)
def claim_for_one_pod(sketch: Sketch) -> None:
    _claim(sketch, "claim-for-one")


@NEIGHBOUR_FEATURES
def claim_that_is_not_ready(sketch: Sketch) -> None:
    unready = (
        "claim-unbound",
        "claim-half-bound",
        "claim-volume-gone",
        "claim-lost",
        "claim-leaving",
        "none",
    )
    _claim(sketch, sketch.one(unready))


@NEIGHBOUR_FEATURES
def ephemeral_claim(sketch: Sketch) -> None:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "immediate",
    }
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    sketch.spec.setdefault("volumes", []).append(volume)
