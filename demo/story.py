"""The steps of the demo: each shows one thing the product does, and checks that it did."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from demo.terminal import Terminal
from devcluster.cluster import DevCluster

__all__ = ["NODES", "Story"]

# Relative, as a person in the checkout would type it.
MANIFESTS = Path("demo/manifests")
NAMESPACE = "team-a"
NODES = {f"node-{number}": {"custom": "yes"} if number % 2 else {} for number in range(1, 7)}
WAIT_SECONDS = 20.0

_LABELLED = [name for name, labels in NODES.items() if "custom" in labels]


class StepFailed(Exception):
    """A step didn't show what it promised."""


class Story:
    """Tells the steps in order; `results` gathers what each promised and whether it was seen."""

    def __init__(self, cluster: DevCluster, terminal: Terminal) -> None:
        self._cluster = cluster
        self._terminal = terminal
        self.results: list[tuple[str, bool]] = []

    def tell(self) -> bool:
        """Run every step; True if each kept its promise."""
        steps: list[tuple[str, Callable[[], None]]] = [
            ("A pod without the label is denied", self._denial),
            ("A pod that opted in is steered", self._mutation),
            ("The binder places it on a node that carries the label", self._placement),
            ("A Deployment whose template lacks the label warns its developer", self._workload),
            ("A pod that fits nowhere says why", self._pending),
        ]
        self._prepare()
        for number, (promise, step) in enumerate(steps, start=1):
            self._terminal.heading(f"{number}. {promise}")
            try:
                step()
            except StepFailed as failure:
                self._terminal.say(f"This is not what was promised: {failure}")
                self.results.append((promise, False))
            else:
                self.results.append((promise, True))
        return all(kept for _, kept in self.results)

    def _prepare(self) -> None:
        self._terminal.heading(
            f"A cluster of {len(NODES)} nodes, {len(_LABELLED)} of which carry the label custom; namespace {NAMESPACE}"
        )
        self._kubectl("get", "nodes", "--label-columns", "custom")
        self._kubectl("create", "namespace", NAMESPACE)
        self._kubectl("label", "namespace", NAMESPACE, "custom-scheduler.io/enforce=deny")
        self._cluster.wait_for_account(NAMESPACE)

    def _denial(self) -> None:
        self._show("unlabelled-pod.yaml")
        answer = self._apply("unlabelled-pod.yaml", expect_failure=True)
        self._expect(answer, "Pod must have custom label")

    def _mutation(self) -> None:
        self._terminal.say("Before, as its developer wrote it:")
        self._show("opted-in-pod.yaml")
        self._apply("opted-in-pod.yaml")
        self._terminal.say("After, as the cluster has it:")
        scheduler = self._kubectl(
            "get", "pod", "opted-in", "-n", NAMESPACE, "-o", "jsonpath={.spec.schedulerName}"
        )
        affinity = self._kubectl("get", "pod", "opted-in", "-n", NAMESPACE, "-o", "jsonpath={.spec.affinity}")
        self._expect(scheduler, "custom-scheduler")
        self._expect(affinity, '"key":"custom","operator":"Exists"')

    def _placement(self) -> None:
        self._wait_for_event("opted-in", "Scheduled")
        self._kubectl("get", "pod", "opted-in", "-n", NAMESPACE, "-o", "wide")
        events = self._events("opted-in")
        node = self._cluster.kubectl(
            "get", "pod", "opted-in", "-n", NAMESPACE, "-o", "jsonpath={.spec.nodeName}"
        ).stdout
        self._expect(events, f"Successfully assigned {NAMESPACE}/opted-in to {node}")
        candidates = self._kubectl("get", "nodes", "--selector", "custom", "-o", "name")
        self._expect(candidates, f"node/{node}\n")

    def _workload(self) -> None:
        answer = self._apply("unlabelled-deployment.yaml")
        self._expect(answer, "spec.template.metadata.labels")
        self._expect(answer, "Warning: ")

    def _pending(self) -> None:
        self._apply("too-big-pod.yaml")
        self._wait_for_event("too-big", "FailedScheduling")
        self._kubectl("get", "pod", "too-big", "-n", NAMESPACE)
        condition = 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}'
        message = self._kubectl("get", "pod", "too-big", "-n", NAMESPACE, "-o", condition)
        self._expect(
            message,
            f"0/{len(NODES)} nodes are available: {len(_LABELLED)} Insufficient cpu, "
            f"{len(NODES) - len(_LABELLED)} node(s) didn't match Pod's node affinity",
        )
        self._events("too-big")

    def _show(self, manifest: str) -> None:
        self._terminal.command("cat", f"{MANIFESTS}/{manifest}")
        self._terminal.output((MANIFESTS / manifest).read_text())

    def _apply(self, manifest: str, *, expect_failure: bool = False) -> str:
        return self._kubectl("apply", "-f", f"{MANIFESTS}/{manifest}", expect_failure=expect_failure)

    def _events(self, pod: str) -> str:
        return self._kubectl(
            "get", "events", "-n", NAMESPACE, "--field-selector", f"involvedObject.name={pod}",
            "-o", "custom-columns=TYPE:.type,REASON:.reason,MESSAGE:.message",
        )  # fmt: skip

    def _wait_for_event(self, pod: str, reason: str) -> None:
        """Wait for an event of the pod: it comes after the fact that it tells of."""
        selector = f"involvedObject.name={pod},reason={reason}"
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            found = self._cluster.kubectl(
                "get", "events", "-n", NAMESPACE, "--field-selector", selector, "-o", "name"
            )
            if found.stdout:
                return
            time.sleep(0.1)
        raise StepFailed(f"no {reason} event for pod {pod} within {WAIT_SECONDS:g} s")

    def _kubectl(self, *words: str, expect_failure: bool = False) -> str:
        self._terminal.command("kubectl", *words)
        done = self._cluster.kubectl(*words, check=False)
        output = done.stdout + done.stderr
        self._terminal.output(output)
        if (done.returncode != 0) != expect_failure:
            raise StepFailed(f"kubectl {words[0]} ended with exit code {done.returncode}")
        return output

    @staticmethod
    def _expect(output: str, expected: str) -> None:
        if expected not in output:
            raise StepFailed(f"expected to read {expected!r}")
