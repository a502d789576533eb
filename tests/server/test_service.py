from __future__ import annotations

import ssl
from pathlib import Path

from prometheus_client import REGISTRY

from tests.waiting import eventually
from webhook.policy.reload import PolicySource
from webhook.server.service import AdmissionService

POLICY = """
apiVersion: custom-scheduler.io/v1alpha1
kind: PlacementPolicy
metadata: {{name: {name}}}
spec: {{}}
"""


class NoCertificates:
    """Certificates that nothing has to be done for."""

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def context(self) -> ssl.SSLContext:
        raise AssertionError

    def not_ready(self) -> list[str]:
        return []


def test_a_worker_that_takes_the_place_of_another_starts_with_the_file_as_it_is_now(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY.format(name="at-the-programs-start"))
    policy = PolicySource(file, own_namespace="custom-scheduler")
    file.write_text(POLICY.format(name="later"))
    service = AdmissionService(policy=policy, certificates=NoCertificates())

    service.start()
    in_force = policy.current.name
    service.stop()

    assert in_force == "later"


def test_a_refused_policy_shows_until_the_file_is_mended(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY.format(name="good"))
    service = AdmissionService(
        policy=PolicySource(file, own_namespace="custom-scheduler"), certificates=NoCertificates()
    )

    def refused() -> float | None:
        return REGISTRY.get_sample_value("custom_scheduler_policy_refused")

    service.start()
    try:
        assert refused() == 0
        file.write_text("kind: Nonsense\n")
        eventually(lambda: refused() == 1)
        file.write_text(POLICY.format(name="mended"))
        eventually(lambda: refused() == 0)
    finally:
        service.stop()
