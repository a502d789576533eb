"""Steering beside another mutating webhook, called before ours and after it: the API server asks each a second time."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from certs.authority import create_authority
from certs.clock import utc_now
from certs.context import server_context
from certs.leaf import sign_leaf
from devcluster.cluster import DevCluster
from tests.e2e.conftest import NamespaceFactory
from tests.e2e.objects import get, pod
from tests.waiting import eventually

Json = dict[str, Any]
Mutation = Callable[[Json], list[Json]]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERMS = f"/spec/affinity/nodeAffinity/{REQUIRED}/nodeSelectorTerms"
OURS = {"key": "custom", "operator": "Exists"}
THEIRS = {"key": "zone", "operator": "In", "values": ["a"]}
# Configurations are called in the order of their names; ours is custom-scheduler.
ORDERS = pytest.mark.parametrize("name", ["another", "zzz-another"], ids=["before-ours", "after-ours"])


class Mutator(ThreadingHTTPServer):
    """A mutating webhook that answers each pod with what `mutation` makes of it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.mutation: Mutation = lambda _: []
        authority = create_authority("another", utc_now())
        leaf = sign_leaf(authority, ["localhost"], utc_now())
        self.ca_bundle = base64.b64encode(authority.bundle).decode()
        context = server_context(leaf.certificate_pem, leaf.key_pem)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def configuration(self, name: str, namespace: str) -> Json:
        """Return the configuration that has the API server ask for the namespace's pods."""
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [
                {
                    "name": f"{name}.example.com",
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "failurePolicy": "Fail",
                    "reinvocationPolicy": "IfNeeded",
                    "clientConfig": {
                        "url": f"https://localhost:{self.server_port}/",
                        "caBundle": self.ca_bundle,
                    },
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                    "rules": [
                        {
                            "apiGroups": [""],
                            "apiVersions": ["v1"],
                            "resources": ["pods"],
                            "operations": ["CREATE"],
                        }
                    ],
                }
            ],
        }


class _Handler(BaseHTTPRequestHandler):
    server: Mutator

    def do_POST(self) -> None:  # the name that http.server calls
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        response: Json = {"uid": request["uid"], "allowed": True}
        if patch := self.server.mutation(request["object"]):
            encoded = base64.b64encode(json.dumps(patch).encode()).decode()
            response |= {"patchType": "JSONPatch", "patch": encoded}
        answer = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def mutator() -> Iterator[Mutator]:
    with Mutator() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@contextmanager
def registered(cluster: DevCluster, mutator: Mutator, name: str, namespace: str) -> Iterator[None]:
    """Have the API server call the mutator, once it is seen to do so."""
    mutator.mutation = lambda _: [{"op": "add", "path": "/metadata/annotations", "value": {"seen": "yes"}}]
    probe = pod(namespace, "probe", labels={"custom-scheduler.io/opt-in": "false"})

    def is_called() -> bool:
        answer = cluster.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", input=probe)
        return "seen" in json.loads(answer.stdout)["metadata"].get("annotations", {})

    cluster.kubectl("apply", "-f", "-", input=json.dumps(mutator.configuration(name, namespace)))
    try:
        eventually(is_called, "a call of the other webhook")
        yield
    finally:
        cluster.kubectl("delete", "mutatingwebhookconfiguration", name)


def create(cluster: DevCluster, namespace: str, name: str) -> tuple[Json, str]:
    """Create a pod that says nothing of its placement; return what came of it, and what kubectl said."""
    said = cluster.kubectl("create", "-f", "-", input=pod(namespace, name)).stderr
    return get(cluster, "pod", namespace, name), said


def terms(made: Json) -> list[list[Json]]:
    required = made["spec"]["affinity"]["nodeAffinity"][REQUIRED]
    return [term["matchExpressions"] for term in required["nodeSelectorTerms"]]


@ORDERS
def test_a_term_that_another_webhook_adds_is_narrowed_as_well(
    cluster: DevCluster, namespace: NamespaceFactory, mutator: Mutator, name: str
) -> None:
    def add_a_term(made: Json) -> list[Json]:
        existing = made["spec"].get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED)
        if not existing or THEIRS in existing["nodeSelectorTerms"][-1]["matchExpressions"]:
            return []
        return [{"op": "add", "path": f"{TERMS}/-", "value": {"matchExpressions": [THEIRS]}}]

    home = namespace(opt_in="true")
    with registered(cluster, mutator, name, home):
        mutator.mutation = add_a_term

        made, said = create(cluster, home, "widened")

    assert terms(made) == [[OURS], [THEIRS, OURS]]
    assert made["spec"]["schedulerName"] == "custom-scheduler"
    assert said == ""


@ORDERS
def test_annotations_that_another_webhook_replaces_get_ours_again(
    cluster: DevCluster, namespace: NamespaceFactory, mutator: Mutator, name: str
) -> None:
    def replace_all(made: Json) -> list[Json]:
        if "theirs" in made["metadata"].get("annotations", {}):
            return []
        return [{"op": "add", "path": "/metadata/annotations", "value": {"theirs": "yes"}}]

    home = namespace(opt_in="true")
    with registered(cluster, mutator, name, home):
        mutator.mutation = replace_all

        made, said = create(cluster, home, "annotated")

    assert made["metadata"]["annotations"] == {"custom-scheduler.io/placed-by": "default", "theirs": "yes"}
    assert terms(made) == [[OURS]]
    assert said == ""


def test_what_another_webhook_takes_away_every_time_is_told_by_verify(
    cluster: DevCluster, namespace: NamespaceFactory, mutator: Mutator
) -> None:
    home = namespace(opt_in="true")
    with registered(cluster, mutator, "zzz-another", home):
        mutator.mutation = lambda made: (
            [{"op": "remove", "path": "/spec/affinity"}] if made["spec"].get("affinity") else []
        )

        made, said = create(cluster, home, "robbed")

    assert "affinity" not in made["spec"]
    assert "Pod opted in but is not steered: its required node affinity lacks custom Exists" in said
