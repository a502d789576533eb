"""The cases on a real API server: dry runs over its raw API, as the case's user."""

from __future__ import annotations

import base64
import json
import re
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3
import yaml

from devcluster.cluster import DevCluster
from tests.cases.case import NAMESPACES, Case, Json, Outcome, User, namespace_labels
from tests.waiting import eventually

_PATHS = {
    "Pod": ("/api/v1", "pods"),
    "ReplicationController": ("/api/v1", "replicationcontrollers"),
    "Deployment": ("/apis/apps/v1", "deployments"),
    "ReplicaSet": ("/apis/apps/v1", "replicasets"),
    "StatefulSet": ("/apis/apps/v1", "statefulsets"),
    "DaemonSet": ("/apis/apps/v1", "daemonsets"),
    "Job": ("/apis/batch/v1", "jobs"),
    "CronJob": ("/apis/batch/v1", "cronjobs"),
}
_FINALIZER = "custom-scheduler.io/held-by-a-test"
# What the API server puts before the text of a webhook, and of a policy.
_DENIAL = re.compile(
    r'admission webhook "\S+" denied the request: (?P<webhook>.*)'
    r"|.* is forbidden: ValidatingAdmissionPolicy '\S+' with binding '\S+' denied request: (?P<policy>.*)"
)
_WARNING = re.compile(r'299 - "(?P<text>(?:[^"\\]|\\.)*)"')
_POLICY_WARNING = re.compile(r"Validation failed for ValidatingAdmissionPolicy '\S+' with binding '\S+': ")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the API server answered."""

    status: int
    body: Json
    warnings: tuple[str, ...]


class Api:
    """The raw API of a cluster, for requests in the name of others."""

    def __init__(self, cluster: DevCluster, folder: Path) -> None:
        user = yaml.safe_load(cluster.kubeconfig.read_text())["users"][0]["user"]
        pair = folder / "admin.pem"
        pair.write_bytes(
            base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"])
        )
        context = ssl.create_default_context(cafile=str(cluster.ca_file))
        context.load_cert_chain(pair)
        self._pool = urllib3.HTTPSConnectionPool(
            "127.0.0.1", int(cluster.url.rpartition(":")[2]), ssl_context=context, retries=False, timeout=30
        )

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def request(
        self, method: str, path: str, body: Json | None = None, *, user: User | None = None
    ) -> Answer:
        """Send a request, as another user if one is given, who may do everything."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = urllib3.HTTPHeaderDict({"Content-Type": kind})
        if user:
            headers.add("Impersonate-User", user.name)
            for group in (*user.groups, "system:masters"):
                headers.add("Impersonate-Group", group)
        answer = self._pool.request(method, path, body=json.dumps(body).encode(), headers=headers)
        warnings = [
            re.sub(r"\\(.)", r"\1", found["text"])
            for header in answer.headers.getlist("Warning")
            for found in _WARNING.finditer(header)
        ]
        return Answer(status=answer.status, body=json.loads(answer.data), warnings=tuple(warnings))

    def must(self, method: str, path: str, body: Json | None = None) -> Json:
        """Send a request that has to succeed, and return the answer's body."""
        answer = self.request(method, path, body)
        assert answer.status < 300, answer.body
        return answer.body

    def prepare(self, cases: Iterable[Case]) -> None:
        """Make the namespaces and the objects that cases update, and only then label the namespaces."""
        for namespace in NAMESPACES:
            if namespace != "kube-system":
                self.must("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        for namespace in NAMESPACES:
            account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
            eventually(lambda path=account: self.request("GET", path).status == 200, account)  # type: ignore[misc]  # mypy can't infer a lambda's default
        for case in cases:
            if case.old:
                self._make(case, case.named(case.old))
        for namespace in NAMESPACES:
            self.must(
                "PATCH",
                f"/api/v1/namespaces/{namespace}",
                {"metadata": {"labels": namespace_labels(namespace)}},
            )

    def admit(self, case: Case) -> Outcome:
        """What comes of the case's request; a dry run."""
        obj = case.named(case.object)
        if case.old:
            path = f"{_collection(case)}/{obj['metadata']['name']}?dryRun=All"
            answer = self.request("PATCH", path, changes(case.named(case.old), obj), user=case.user)
        else:
            answer = self.request("POST", f"{_collection(case)}?dryRun=All", obj, user=case.user)
        warnings = tuple(_POLICY_WARNING.sub("", text) for text in answer.warnings)
        if answer.status >= 300:
            message = answer.body["message"]
            found = _DENIAL.fullmatch(message)
            denied = (found["webhook"] or found["policy"]) if found and answer.status == 403 else message
            return Outcome(denied=denied, warnings=warnings, object=None)
        return Outcome(denied=None, warnings=warnings, object=answer.body)

    def _make(self, case: Case, obj: Json) -> None:
        path = _collection(case)
        if case.terminating:
            obj = {**obj, "metadata": {**obj["metadata"], "finalizers": [_FINALIZER]}}
        self.must("POST", path, obj)
        if case.terminating:
            self.must("DELETE", f"{path}/{obj['metadata']['name']}")


def changes(old: Any, new: Any) -> Any:
    """The merge patch (RFC 7386) from one JSON value to another."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    removed = dict.fromkeys(old.keys() - new.keys())
    return removed | {
        key: changes(old.get(key), value) for key, value in new.items() if old.get(key) != value
    }


def _collection(case: Case) -> str:
    group, plural = _PATHS[case.kind]
    return f"{group}/namespaces/{case.namespace}/{plural}"
