from __future__ import annotations

import ssl
from pathlib import Path

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
