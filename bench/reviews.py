"""AdmissionReviews of a wanted size, shaped like those that an API server sends for pods."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["UID", "pod_review"]

UID = "705ab4f5-6393-11e8-b7cc-42010a800002"
"""The uid of every review."""


def pod_review(
    *, size: int = 0, env: int = 8, labels: dict[str, str] | None = None, operation: str = "CREATE"
) -> bytes:
    """Return the review of a pod with `labels` and `env` variables in a container, of `size` bytes or a little more.

    It grows by containers, as large pods do, and the rest to the size is an annotation.
    """
    containers = [_container(0, env)]
    annotations = {"kubectl.kubernetes.io/restartedAt": "2026-01-31T10:00:00Z"}
    metadata: dict[str, Any] = {
        "generateName": "web-6d4cf56db6-",
        "namespace": "team-a",
        "labels": {"app": "web", "pod-template-hash": "6d4cf56db6", **(labels or {})},
        "annotations": annotations,
        "ownerReferences": [_OWNER],
        "managedFields": [_MANAGED],
    }
    spec = {**_SPEC, "containers": containers}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": "Pending"},
    }
    request = {**_REQUEST, "operation": operation, "object": pod, "oldObject": None}
    envelope = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    container_size = len(msgspec.json.encode(_container(0, env)))
    while len(body := msgspec.json.encode(envelope)) + container_size < size:
        containers.append(_container(len(containers), env))
    if len(body) < size:
        annotations["note"] = "x" * (size - len(body))
        body = msgspec.json.encode(envelope)
    return body


def _container(number: int, env: int) -> dict[str, Any]:
    return {
        "name": f"container-{number}",
        "image": "registry.example.com/team-a/web@sha256:7c3ad4d59ba2fbd0ca2a8a1bbdd8a1f6b3b1a6d3",
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [{"name": f"SETTING_{index}", "value": f"value-of-setting-{index}"} for index in range(env)],
        "resources": {"limits": {"memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
        "volumeMounts": [
            {
                "name": "kube-api-access-x2x7k",
                "readOnly": True,
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
            }
        ],
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"},
            "timeoutSeconds": 1,
            "periodSeconds": 10,
            "successThreshold": 1,
            "failureThreshold": 3,
        },
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }


_OWNER = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "name": "web-6d4cf56db6",
    "uid": "3f5b3d4e-1a2b-4c3d-8e9f-0a1b2c3d4e5f",
    "controller": True,
    "blockOwnerDeletion": True,
}
_MANAGED = {
    "manager": "kube-controller-manager",
    "operation": "Update",
    "apiVersion": "v1",
    "time": "2026-01-31T10:00:00Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": {
        "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
        "f:spec": {"f:containers": {"k:{}": {".": {}}}},
    },
}
_SPEC = {
    "volumes": [
        {
            "name": "kube-api-access-x2x7k",
            "projected": {
                "sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                    {
                        "configMap": {
                            "name": "kube-root-ca.crt",
                            "items": [{"key": "ca.crt", "path": "ca.crt"}],
                        }
                    },
                ],
                "defaultMode": 420,
            },
        }
    ],
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "serviceAccountName": "default",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "tolerations": [
        {
            "key": "node.kubernetes.io/not-ready",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        }
    ],
    "priority": 0,
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
_REQUEST = {
    "uid": UID,
    "kind": {"group": "", "version": "v1", "kind": "Pod"},
    "resource": {"group": "", "version": "v1", "resource": "pods"},
    "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
    "requestResource": {"group": "", "version": "v1", "resource": "pods"},
    "namespace": "team-a",
    "userInfo": {
        "username": "system:serviceaccount:kube-system:replicaset-controller",
        "uid": "a2f6a2c1-9d0e-4a57-8f5e-5f0c3b1d2e3f",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
    },
    "dryRun": False,
    "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
}
