"""Pods that the API server is asked to create, as dry runs, and the one right answer to each."""

from __future__ import annotations

import re
from typing import Any, Protocol

from devcluster.errors import RequestError
from tests.chaos.load import Answer

__all__ = ["DENIAL", "NAMESPACE", "Questions"]

NAMESPACE = "team"
DENIAL = "Pod must have custom label"

# k8s.io/apiserver pkg/admission/plugin/webhook/errors, ToStatusErr
_DENIED = re.compile(
    rf'admission webhook "deny\.pods\.custom-scheduler\.io" denied the request: (?P<message>{DENIAL}.*)'
)
_OPT_IN = "custom-scheduler.io/opt-in"


class Client(Protocol):
    """The part of an API client that is needed here."""

    def request(self, method: str, path: str, body: object = None, *, timeout: float = 30) -> Any:
        """Return the decoded answer; raises DevClusterError."""


class Questions:
    """Each third call has to be denied with the policy's message, one admitted as it is, and one steered.

    The last two tell a webhook that fails open from one that works: deny.pods fails closed, so that a pod that it
    did not see is refused; the mutating ones fail open, so that a pod that they did not see is not steered.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def __call__(self, number: int) -> Answer:
        match number % 3:
            case 0:
                return self._denied({})
            case 1:
                return self._admitted({"custom": "web"}, scheduler="default-scheduler")
            case _:
                return self._admitted({"custom": "web", _OPT_IN: "true"}, scheduler="custom-scheduler")

    def _denied(self, labels: dict[str, str]) -> Answer:
        try:
            self._create(labels)
        except RequestError as error:
            found = _DENIED.search(str(error))
            if error.status == 403 and found:
                return Answer(text=found["message"].partition(":")[0])
            return Answer(fault=str(error))
        return Answer(fault="a pod without the label was let in")

    def _admitted(self, labels: dict[str, str], *, scheduler: str) -> Answer:
        try:
            made = self._create(labels)
        except RequestError as error:
            return Answer(fault=str(error))
        name = made["spec"]["schedulerName"]
        return Answer(text=name, fault="" if name == scheduler else f"a pod was left to {name}")

    def _create(self, labels: dict[str, str]) -> Any:
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"generateName": "asked-", "labels": labels},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        return self._client.request("POST", f"/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All", pod)
