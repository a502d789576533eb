"""What is done to the installation while it is called: each function is one scenario.

It returns when what it began is over, with the proof that it happened: the calls that follow are counted too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from devcluster.kubelet.kubelet import Kubelet
from tests.chaos.certificates import Issuer, serving_secret
from tests.chaos.installed import MANIFESTS, NAMESPACE, Installed
from tests.chaos.load import Load
from tests.chaos.newcomer import Newcomer
from tests.chaos.questions import DENIAL
from tests.program import certs_rotate, certs_show, signer
from tests.waiting import eventually

__all__ = ["SCENARIOS", "World"]

Proof = dict[str, Any]

_POLICIES = 50
_POLICY_PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps/custom-scheduler-policy"


class World(msgspec.Struct, frozen=True, kw_only=True):
    """What a scenario may touch."""

    installed: Installed
    kubelet: Kubelet
    load: Load
    seconds: float
    """How long the load is to last at least."""

    def newcomer(self) -> Newcomer:
        """Return one who calls the endpoints without a connection of before."""
        installed = self.installed
        return Newcomer(endpoints=installed.endpoints, bundle=lambda: installed.bundles()[0])


def a_ca_rotates(world: World) -> Proof:
    """One CA follows another, through all phases."""
    installed = world.installed
    before = signer(certs_show(installed.cluster))
    with world.newcomer() as newcomer:
        certs_rotate(installed.cluster)
        phases: list[str] = []

        def is_stable() -> bool:
            phase = installed.phase()
            if phase not in phases[-1:]:
                phases.append(phase)
            return phase == "stable"

        eventually(is_stable, "the rotation is over", seconds=300)
    assert before != signer(certs_show(installed.cluster))
    assert newcomer.faults == []
    return {"phases": phases, "handshakes": newcomer.handshakes}


def leaves_renew(world: World) -> Proof:
    """Each replica signs itself another certificate, twice."""

    def renewed() -> bool:
        return len(newcomer.serials) == 2 and all(len(each) > 2 for each in newcomer.serials.values())

    with world.newcomer() as newcomer:
        eventually(renewed, "two renewals of each replica", seconds=120)
    assert newcomer.faults == []
    return {
        "certificates": [len(each) for each in newcomer.serials.values()],
        "handshakes": newcomer.handshakes,
    }


def a_pod_is_deleted(world: World) -> Proof:
    """One replica of two is deleted, and another comes in its place."""
    installed = world.installed
    gone = installed.pods()[0]["metadata"]
    installed.cluster.kubectl("delete", "pod", gone["name"], "-n", NAMESPACE, "--wait=false")
    eventually(lambda: len(installed.pods()) == 3, "another pod in its place")
    installed.wait_called()
    installed.wait_gone({gone["uid"]})
    return {"deleted": gone["name"], "now": [each["metadata"]["name"] for each in installed.pods()]}


def a_process_gets_sigterm(world: World) -> Proof:
    """One replica's process is told to end, and nobody but its readiness probe tells the endpoints; it comes back."""
    installed = world.installed
    pod = installed.pods()[0]
    uid = pod["metadata"]["uid"]
    world.kubelet.terminate(uid)

    def restarts() -> int:
        (same,) = [each for each in installed.pods() if each["metadata"]["uid"] == uid]
        return int(same["status"]["containerStatuses"][0]["restartCount"])

    before = restarts()
    eventually(lambda: restarts() > before, "the container has been started again", seconds=60)
    installed.wait_called()
    return {"restarts": restarts() - before}


def the_deployment_restarts(world: World) -> Proof:
    """A rolling restart of both replicas."""
    installed = world.installed
    before = {each["metadata"]["uid"] for each in installed.pods()}
    installed.cluster.kubectl("rollout", "restart", "deployment/custom-scheduler", "-n", NAMESPACE)
    installed.wait_rolled_out()
    installed.wait_gone(before)
    return {"replaced": len(before)}


def the_policy_changes(world: World) -> Proof:
    """Another policy fifty times."""
    request = world.installed.cluster.request
    shipped = (MANIFESTS / "base/policy.yaml").read_text()
    pause = world.seconds / _POLICIES
    done = world.load.tally
    for number in range(_POLICIES):
        text = shipped.replace(DENIAL, f"{DENIAL} ({number})")
        request("PATCH", _POLICY_PATH, {"data": {"policy.yaml": text}})
        calls = done.calls + max(1, int(pause * 100))
        eventually(lambda calls=calls: done.calls >= calls, "calls under this policy")  # type: ignore[misc]
    eventually(lambda: done.texts[f"{DENIAL} ({_POLICIES - 1})"], "the last policy is in force")
    request("PATCH", _POLICY_PATH, {"data": {"policy.yaml": shipped}})
    shipped_before = done.texts[DENIAL]
    eventually(lambda: done.texts[DENIAL] > shipped_before + 10, "the shipped policy is in force again")
    return {
        "changes": _POLICIES + 1,
        "seen": sum(text.startswith(f"{DENIAL} (") for text in list(done.texts)),
    }


def the_manifests_are_applied_again(world: World) -> Proof:
    """The same overlay twice, once as a person does and once as a GitOps tool does."""
    installed = world.installed
    before = installed.bundles()
    installed.apply()
    server_side = ["--server-side", "--force-conflicts", "--field-manager=gitops"]
    installed.cluster.kubectl("apply", *server_side, "-f", "-", input=installed.manifests())
    installed.wait_rolled_out()
    assert installed.bundles() == before
    assert all(before)
    return {"applied": 2}


def files_mode_comes_and_goes(world: World) -> Proof:
    """From our own certificates to those of a Secret as cert-manager makes it, and back. We play cert-manager."""
    installed = world.installed
    issuer = Issuer()
    installed.cluster.kubectl("apply", "-f", "-", input=serving_secret(issuer))

    def inject() -> None:
        installed.set_bundle(lambda before: before + issuer.certificate)

    def inject_alone() -> None:
        installed.set_bundle(lambda _: issuer.certificate)

    return _change_modes(world, inject=inject, inject_alone=inject_alone)


def cert_manager_comes_and_goes(world: World) -> Proof:
    """The same with the real cert-manager, which injects beside what it finds."""
    return _change_modes(world, inject=lambda: None, inject_alone=lambda: None)


def _change_modes(world: World, *, inject: Callable[[], None], inject_alone: Callable[[], None]) -> Proof:
    """There and back by the steps of docs/operations.md, but for the minute of waiting for several API servers."""
    installed = world.installed
    own = {each["metadata"]["uid"] for each in installed.pods()}
    installed.apply("cert-manager-authority")
    inject()
    eventually(
        lambda: all(each.count(b"BEGIN CERTIFICATE") == 2 for each in installed.bundles()),
        "both CAs in caBundle",
        seconds=60,
    )
    with world.newcomer() as going:
        installed.apply("cert-manager")
        installed.wait_gone(own)
    for kind in ("clusterrole", "clusterrolebinding", "role", "rolebinding"):
        installed.cluster.kubectl("delete", kind, "custom-scheduler", "-n", NAMESPACE)
    installed.cluster.kubectl("delete", "secret", "custom-scheduler-ca", "-n", NAMESPACE)
    with world.newcomer() as returning:
        inject_alone()
        calls = world.load.tally.calls
        eventually(lambda: world.load.tally.calls > calls + 100, "calls in files mode")
        installed.apply()
    assert going.faults == returning.faults == []
    return {"handshakes": going.handshakes + returning.handshakes}


def every_stop_is_a_kill(world: World) -> Proof:
    """The control: no preStop, no drain and no time to end for the pod that is deleted. This has to fail calls."""
    installed = world.installed
    _change_template(
        installed,
        grace=1,
        lifecycle=None,
        env=[{"name": "CUSTOM_SCHEDULER_SERVE_DRAIN_SECONDS", "value": "0"}],
    )
    installed.wait_rolled_out()
    a_pod_is_deleted(world)
    broken = {each["metadata"]["uid"] for each in installed.pods()}
    _change_template(installed, grace=1, env=None)  # which an apply leaves to whoever put it there
    installed.apply()
    # Those that came in between are killed too.
    ending = {each["metadata"]["uid"] for each in installed.pods() if "deletionTimestamp" in each["metadata"]}
    installed.wait_gone(broken | ending)
    installed.forget_killed()
    return {"killed": 1}


def _change_template(installed: Installed, *, grace: int, **container: object) -> None:
    spec = {"terminationGracePeriodSeconds": grace, "containers": [{"name": "webhook", **container}]}
    installed.cluster.kubectl(
        *("patch", "deployment", "custom-scheduler", "-n", NAMESPACE, "--type=strategic", "-p"),
        msgspec.json.encode({"spec": {"template": {"spec": spec}}}).decode(),
    )


def a_wiped_bundle_comes_back(world: World) -> Proof:
    """An apply that replaces what is there, and caBundle with it. This can't but fail calls, until a replica restores it."""
    installed = world.installed
    installed.set_bundle(lambda _: b"")
    eventually(lambda: all(installed.bundles()), "caBundle is back")
    return {}


SCENARIOS: dict[str, Callable[[World], Proof]] = {
    each.__name__: each
    for each in (
        a_ca_rotates,
        leaves_renew,
        a_pod_is_deleted,
        a_process_gets_sigterm,
        the_deployment_restarts,
        the_policy_changes,
        the_manifests_are_applied_again,
        files_mode_comes_and_goes,
        cert_manager_comes_and_goes,
        every_stop_is_a_kill,
        a_wiped_bundle_comes_back,
    )
}
