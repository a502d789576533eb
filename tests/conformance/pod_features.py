"""What pods can have, whether they are placed already or to be scheduled; neighbours are in `neighbour_features`."""

from __future__ import annotations

from tests.conformance.features import Features, Sketch
from tests.conformance.furniture import APPS, NAMESPACES, OVERHEAD, TIERS, ZONE, ZONES
from tests.conformance.model import Json
from tests.conformance.node_features import IMAGES, KEYS

__all__ = ["POD_FEATURES", "pod"]

POD_FEATURES = Features()

_CPU = ("50m", "100m", "0.25", "700m", "1")
_MEMORY = ("32Mi", "200Mi", "300M", "1Gi", "123456789")


def pod(sketch: Sketch, name: str) -> None:
    """Fill in an ordinary pod, before any feature."""
    labels = {"app": sketch.one(APPS), "tier": sketch.one(TIERS)}
    requests = {"cpu": sketch.one(_CPU), "memory": sketch.one(_MEMORY)}
    container = {"name": "main", "image": "main", "resources": {"requests": requests}}
    sketch.manifest.update(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": sketch.one(list(NAMESPACES)), "labels": labels},
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 30},
        }
    )


def _main(sketch: Sketch) -> Json:
    container: Json = sketch.spec["containers"][0]
    return container


def _request(container: Json, resource: str, amount: str, *, limit: bool = False) -> None:
    resources = container.setdefault("resources", {})
    resources.setdefault("requests", {})[resource] = amount
    if limit:
        resources.setdefault("limits", {})[resource] = amount


def _host_port(sketch: Sketch) -> Json:
    # The same number for both, as it must be in the host's network.
    number = sketch.one((8080, 8081))
    return {"containerPort": number, "hostPort": number}


def _affinity(sketch: Sketch) -> Json:
    affinity: Json = sketch.spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    return affinity


def _expression(sketch: Sketch) -> Json:
    key, values = sketch.one(
        (("disk", ["ssd"]), (ZONE, sketch.some(ZONES)), ("rack", ["", "r1"]), ("generation", ["07", "3"]))
    )
    operator = sketch.one(("In", "NotIn", "Exists", "DoesNotExist"))
    if operator in {"Exists", "DoesNotExist"}:
        return {"key": key, "operator": operator}
    return {"key": key, "operator": operator, "values": values}


def _name_field(sketch: Sketch, operator: str) -> Json:
    return {"key": "metadata.name", "operator": operator, "values": [sketch.one(sketch.nodes or ("none",))]}


def _terms(sketch: Sketch, *terms: Json) -> None:
    required = _affinity(sketch).setdefault(
        "requiredDuringSchedulingIgnoredDuringExecution", {"nodeSelectorTerms": []}
    )
    required["nodeSelectorTerms"] += terms


@POD_FEATURES
def no_requests(sketch: Sketch) -> None:
    del _main(sketch)["resources"]


@POD_FEATURES
def cpu_alone(sketch: Sketch) -> None:
    _main(sketch)["resources"] = {"requests": {"cpu": sketch.one(_CPU)}}


@POD_FEATURES
def large(sketch: Sketch) -> None:
    _request(_main(sketch), "cpu", "3")


@POD_FEATURES
def huge_memory(sketch: Sketch) -> None:
    _request(_main(sketch), "memory", sketch.one(("3Gi", "40Gi")))


@POD_FEATURES
def two_containers(sketch: Sketch) -> None:
    container: Json = {"name": "second", "image": "second"}
    _request(container, "cpu", sketch.one(_CPU))
    sketch.spec["containers"].append(container)


@POD_FEATURES
def init_container(sketch: Sketch) -> None:
    container: Json = {"name": "init", "image": "init"}
    _request(container, "cpu", sketch.one(("50m", "1500m", "2")))
    _request(container, "memory", sketch.one(_MEMORY))
    sketch.spec.setdefault("initContainers", []).append(container)


@POD_FEATURES
def sidecar(sketch: Sketch) -> None:
    container: Json = {"name": "sidecar", "image": "sidecar", "restartPolicy": "Always"}
    _request(container, "cpu", sketch.one(("200m", "1")))
    if sketch.one((True, False)):
        container["ports"] = [_host_port(sketch)]
    containers = sketch.spec.setdefault("initContainers", [])
    containers.insert(sketch.rng.randint(0, len(containers)), container)


@POD_FEATURES
def init_container_after_sidecar(sketch: Sketch) -> None:
    # What is started before an init container counts beside it, and this one asks for most.
    sidecar: Json = {"name": "first", "image": "first", "restartPolicy": "Always"}
    _request(sidecar, "cpu", sketch.one(("200m", "500m")))
    container: Json = {"name": "then", "image": "then"}
    _request(container, "cpu", sketch.one(("1200m", "2")))
    sketch.spec.setdefault("initContainers", []).extend([sidecar, container])


@POD_FEATURES
def ephemeral_storage(sketch: Sketch) -> None:
    _request(_main(sketch), "ephemeral-storage", sketch.one(("1Gi", "6Gi", "11Gi")))


@POD_FEATURES
def extended_resource(sketch: Sketch) -> None:
    _request(_main(sketch), "example.com/gpu", sketch.one(("1", "2")), limit=True)


@POD_FEATURES
def ignored_resource(sketch: Sketch) -> None:
    name = sketch.one(("example.com/ignored", "group.example.com/any"))
    _request(_main(sketch), name, "2", limit=True)


@POD_FEATURES
def pod_level_resources(sketch: Sketch) -> None:
    # They must be no less than what the containers add up to, so that these get none.
    level = {"cpu": sketch.one(("300m", "2")), "memory": sketch.one(("500Mi", "3Gi"))}
    requests = {name: level[name] for name in sketch.some(list(level))}
    for container in (*sketch.spec["containers"], *sketch.spec.get("initContainers", ())):
        for name in requests:
            container.get("resources", {}).get("requests", {}).pop(name, None)
    sketch.spec["resources"] = {"requests": requests}


@POD_FEATURES
def huge_pages(sketch: Sketch) -> None:
    _request(_main(sketch), "cpu", "100m")
    _request(_main(sketch), "hugepages-2Mi", sketch.one(("32Mi", "128Mi")), limit=True)


@POD_FEATURES
def overhead(sketch: Sketch) -> None:
    sketch.spec["runtimeClassName"] = OVERHEAD


@POD_FEATURES.drawn(5)
def host_port(sketch: Sketch) -> None:
    port = _host_port(sketch)
    if sketch.one((True, False)):
        port["protocol"] = sketch.one(("UDP", "TCP"))
    _main(sketch).setdefault("ports", []).append(port)


@POD_FEATURES
def host_port_of_an_address(sketch: Sketch) -> None:
    address = sketch.one(("127.0.0.1", "10.0.0.1", "0.0.0.0"))  # noqa: S104 (asked for, never bound)
    port = {**_host_port(sketch), "hostIP": address}
    _main(sketch).setdefault("ports", []).append(port)


@POD_FEATURES
def host_network(sketch: Sketch) -> None:
    # The API server makes a host port of each port.
    sketch.spec["hostNetwork"] = True
    _main(sketch).setdefault("ports", [{"containerPort": sketch.one((8080, 8081))}])


@POD_FEATURES
def rule_that_restarts_all(sketch: Sketch) -> None:
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}
    _main(sketch).update(restartPolicy="Never", restartPolicyRules=[rule])


@POD_FEATURES.drawn(5)
def toleration(sketch: Sketch) -> None:
    for key in sketch.some(KEYS):
        found: Json = {"key": key, "operator": sketch.one(("Exists", "Equal"))}
        if found["operator"] == "Equal":
            found["value"] = sketch.one(("a", "b", ""))
        effect = sketch.one(("", "NoSchedule", "PreferNoSchedule", "NoExecute"))
        if effect:
            found["effect"] = effect
        sketch.spec.setdefault("tolerations", []).append(found)


@POD_FEATURES
def toleration_of_all(sketch: Sketch) -> None:
    sketch.spec.setdefault("tolerations", []).append({"operator": "Exists"})


@POD_FEATURES
def toleration_of_cordon(sketch: Sketch) -> None:
    found = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
    sketch.spec.setdefault("tolerations", []).append(found)


@POD_FEATURES
def node_selector(sketch: Sketch) -> None:
    sketch.spec["nodeSelector"] = dict(sketch.some((("disk", "ssd"), (ZONE, "zone-a"), ("rack", ""))))


@POD_FEATURES
def required_node_affinity(sketch: Sketch) -> None:
    for _ in range(sketch.rng.randint(1, 2)):
        _terms(sketch, {"matchExpressions": [_expression(sketch) for _ in range(sketch.rng.randint(1, 2))]})


@POD_FEATURES
def numeric_node_affinity(sketch: Sketch) -> None:
    expression = {
        "key": "generation",
        "operator": sketch.one(("Gt", "Lt")),
        "values": [sketch.one(("7", "5"))],
    }
    _terms(sketch, {"matchExpressions": [expression]})


@POD_FEATURES
def node_by_name(sketch: Sketch) -> None:
    term: Json = {"matchFields": [_name_field(sketch, "In")]}
    if sketch.one((True, False, False)):
        term["matchFields"].append(_name_field(sketch, "In"))
    if sketch.one((True, False)):
        term["matchExpressions"] = [_expression(sketch)]
    _terms(sketch, term)


@POD_FEATURES
def not_node_by_name(sketch: Sketch) -> None:
    _terms(sketch, {"matchFields": [_name_field(sketch, "NotIn")]})


@POD_FEATURES.drawn(5)
def preferred_node_affinity(sketch: Sketch) -> None:
    _affinity(sketch)["preferredDuringSchedulingIgnoredDuringExecution"] = [
        {"weight": sketch.rng.randint(1, 100), "preference": {"matchExpressions": [_expression(sketch)]}}
        for _ in range(sketch.rng.randint(1, 3))
    ]


@POD_FEATURES.drawn(5)
def known_image(sketch: Sketch) -> None:
    _main(sketch)["image"] = sketch.one(list(IMAGES)).removesuffix(sketch.one(("", ":latest")))


@POD_FEATURES
def known_images_everywhere(sketch: Sketch) -> None:
    for container in (*sketch.spec["containers"], *sketch.spec.get("initContainers", ())):
        container["image"] = sketch.one(list(IMAGES))


@POD_FEATURES
def image_volume(sketch: Sketch) -> None:
    volume = {"name": "image", "image": {"reference": sketch.one(list(IMAGES))}}
    sketch.spec.setdefault("volumes", []).append(volume)
