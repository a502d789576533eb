from __future__ import annotations

import logging
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from prometheus_client import REGISTRY

from certs.authority import AUTHORITY_LIFETIME, Authority, create_authority
from certs.clock import utc_now
from certs.context import TLS_FLOOR, TlsVersion
from certs.custody import Custody
from certs.leaf import LEAF_LIFETIME, Leaf, service_hosts, sign_leaf
from tests.certs.handshake import shake_hands, strict_client
from tests.certs.memory_store import MemoryStore
from tests.server.cluster import MemoryConfiguration, MemoryLeases, MemoryWatch
from tests.waiting import eventually
from webhook.errors import ApiError, ConfigurationError, Unreachable
from webhook.server.certificates import (
    FileCertificates,
    SelfSignedCertificates,
)
from webhook.server.custodian import LOOK_SECONDS, Custodian
from webhook.server.registration import Registration

SERVICE = "custom-scheduler.custom-scheduler.svc"
PATIENCE_SECONDS = 10


class Clock:
    def __init__(self) -> None:
        self.now = utc_now()

    def __call__(self) -> datetime:
        return self.now

    def boot(self) -> float:
        return self.now.timestamp()


class Cluster:
    """A Secret, both configurations, and a worker's certificates over them."""

    def __init__(
        self,
        *,
        store: MemoryStore | None = None,
        client_ca: Path | None = None,
        tls_min_version: TlsVersion = TLS_FLOOR,
        leaf_lifetime: timedelta = LEAF_LIFETIME,
    ) -> None:
        self.leaf_lifetime = leaf_lifetime
        self.clock = Clock()
        self.authority = create_authority("custom-scheduler", self.clock.now)
        self.store = store or MemoryStore(content(self.authority))
        self.validating = MemoryConfiguration("deny.pods.custom-scheduler.io")
        self.mutating = MemoryConfiguration(
            "mutate.pods.custom-scheduler.io", label="MutatingWebhookConfiguration custom-scheduler"
        )
        self.leases = MemoryLeases()
        self.watch = MemoryWatch()
        self.on_close: Callable[[], None] = lambda: None
        self.client_ca = client_ca
        self.tls_min_version = tls_min_version
        self.certificates = self.worker(self.authority)

    def worker(self, authority: Authority, *, replica: str = "webhook-1") -> SelfSignedCertificates:
        custodian = Custodian(
            Custody(authority=authority),
            replica=replica,
            store=self.store,
            registrations=[Registration(self.validating), Registration(self.mutating)],
            leases=self.leases,
            settle_seconds=60,
            clock=self.clock,
            machine_clock=self.clock,
            boot_clock=self.clock.boot,
        )
        return SelfSignedCertificates(
            hosts=service_hosts("custom-scheduler", "custom-scheduler"),
            custodian=custodian,
            watch=self.watch,
            close=self.on_close,
            client_ca=self.client_ca,
            tls_min_version=self.tls_min_version,
            clock=self.clock,
            quiet_seconds=0,
            leaf_lifetime=self.leaf_lifetime,
        )

    def bundles(self) -> list[bytes]:
        return self.validating.bundles() + self.mutating.bundles()

    def go_away(self) -> None:
        self._refuse(Unreachable("refused"))

    def come_back(self) -> None:
        self._refuse(None)

    def _refuse(self, refusal: Unreachable | None) -> None:
        self.store.refusal = self.leases.refusal = refusal
        self.validating.refusal = self.mutating.refusal = refusal


def content(authority: Authority) -> dict[str, bytes]:
    return {"ca.crt": authority.bundle, "ca.key": authority.key_pem}


def served(context: ssl.SSLContext, ca_pem: bytes, host: str = SERVICE) -> x509.Certificate:
    return x509.load_der_x509_certificate(shake_hands(context, strict_client(ca_pem), host).certificate)


def expiry(role: str) -> float | None:
    return REGISTRY.get_sample_value("custom_scheduler_certificate_expiry_timestamp_seconds", {"role": role})


# --- self-signed


def test_the_service_is_served_before_the_first_look() -> None:
    cluster = Cluster()

    certificate = served(cluster.certificates.context(), cluster.authority.bundle)

    assert certificate.issuer == cluster.authority.certificate.subject


def test_both_configurations_get_the_ca() -> None:
    cluster = Cluster()

    cluster.certificates.look()

    assert cluster.bundles() == [cluster.authority.bundle] * 2


def test_it_is_ready_once_both_configurations_carry_the_ca() -> None:
    cluster = Cluster()
    before = cluster.certificates.not_ready()

    cluster.certificates.look()

    assert before == [
        "caBundle of ValidatingWebhookConfiguration custom-scheduler not looked at yet",
        "caBundle of MutatingWebhookConfiguration custom-scheduler not looked at yet",
    ]
    assert cluster.certificates.not_ready() == []


def test_it_is_ready_where_nothing_is_registered() -> None:
    cluster = Cluster()
    cluster.validating.webhooks = cluster.mutating.webhooks = None

    cluster.certificates.look()

    assert cluster.certificates.not_ready() == []


def test_looking_again_writes_and_signs_nothing() -> None:
    cluster = Cluster()
    cluster.certificates.look()
    context = cluster.certificates.context()

    pauses = [cluster.certificates.look() for _ in range(10)]

    assert pauses == [LOOK_SECONDS] * 10
    assert (cluster.validating.writes, cluster.mutating.writes, cluster.store.writes) == (1, 1, 0)
    assert cluster.certificates.context() is context


def test_one_configuration_that_refuses_does_not_keep_the_other_from_its_ca() -> None:
    cluster = Cluster()

    def refuse() -> None:
        raise ApiError("forbidden", status=403)

    cluster.validating.before_patch = refuse
    cluster.certificates.look()

    assert cluster.bundles() == [b"", cluster.authority.bundle]
    (reason,) = cluster.certificates.not_ready()
    assert reason == (
        "caBundle of deny.pods.custom-scheduler.io in ValidatingWebhookConfiguration custom-scheduler "
        "is not our CA: forbidden"
    )


def test_a_host_in_a_url_is_served_before_the_ca_is_published() -> None:
    cluster = Cluster()
    cluster.validating.call_by("https://localhost:8443/validate")
    seen: list[x509.Certificate] = []
    cluster.validating.before_patch = lambda: seen.append(
        served(cluster.certificates.context(), cluster.authority.bundle, "localhost")
    )

    cluster.certificates.look()

    assert len(seen) == 1


def test_a_host_that_is_gone_stays_until_the_leaf_is_renewed() -> None:
    cluster = Cluster()
    cluster.validating.call_by("https://localhost:8443/validate")
    cluster.certificates.look()
    context = cluster.certificates.context()
    cluster.validating.webhooks = None

    cluster.certificates.look()

    assert cluster.certificates.context() is context


def test_a_leaf_is_renewed_at_two_thirds_of_its_life() -> None:
    cluster = Cluster()
    cluster.certificates.look()
    first = cluster.certificates.context()

    cluster.clock.now += LEAF_LIFETIME * 2 / 3 - timedelta(minutes=1)
    cluster.certificates.look()
    early = cluster.certificates.context()
    cluster.clock.now += timedelta(minutes=1)
    cluster.certificates.look()

    assert early is first
    assert cluster.certificates.context() is not first


def test_a_leaf_that_lives_for_less_than_a_look_lasts_is_renewed_in_time() -> None:
    cluster = Cluster(leaf_lifetime=timedelta(seconds=30))
    pause = cluster.certificates.look()
    first = cluster.certificates.context()

    cluster.clock.now += timedelta(seconds=pause)
    cluster.certificates.look()

    assert 0 < pause <= 20
    assert cluster.certificates.context() is not first
    assert cluster.certificates.not_ready() == []


def test_a_leaf_is_renewed_while_the_api_server_is_away() -> None:
    cluster = Cluster()
    cluster.certificates.look()
    first = cluster.certificates.context()
    cluster.go_away()
    cluster.clock.now += LEAF_LIFETIME * 2 / 3

    cluster.certificates.look()

    assert cluster.certificates.context() is not first
    assert cluster.certificates.not_ready() == []


def test_a_leaf_that_has_ended_is_not_replaced_before_the_cluster_was_looked_at() -> None:
    cluster = Cluster()
    cluster.certificates.look()
    cluster.go_away()
    cluster.clock.now += LEAF_LIFETIME

    cluster.certificates.look()
    away = cluster.certificates.not_ready()
    cluster.come_back()
    cluster.certificates.look()

    assert len(away) == 1
    assert cluster.certificates.not_ready() == []


def test_an_api_server_that_is_away_is_told_once_and_asked_again_soon(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster()
    cluster.certificates.look()
    cluster.go_away()

    with caplog.at_level(logging.ERROR):
        pauses = [cluster.certificates.look() for _ in range(10)]

    assert [record.getMessage() for record in caplog.records] == [
        "certificates can't be brought in line: refused"
    ]
    assert pauses[0] < 2
    assert max(pauses) <= LOOK_SECONDS


def test_a_certificate_whose_time_is_over_is_not_ready() -> None:
    cluster = Cluster()
    cluster.certificates.look()
    cluster.go_away()
    cluster.clock.now += AUTHORITY_LIFETIME

    cluster.certificates.look()

    (reason,) = cluster.certificates.not_ready()
    assert reason.startswith("the certificate served expired at ")
    assert reason.endswith(": refused")


def test_another_ca_in_the_secret_is_followed() -> None:
    cluster = Cluster()
    cluster.certificates.look()
    other = create_authority("custom-scheduler", cluster.clock.now)
    cluster.store.put(content(other))

    for _ in range(4):
        cluster.certificates.look()
        cluster.clock.now += timedelta(seconds=60)

    assert cluster.bundles() == [other.bundle] * 2
    served(cluster.certificates.context(), other.bundle)


def test_a_second_ca_in_the_secret_is_published_and_changes_no_leaf() -> None:
    cluster = Cluster()
    cluster.certificates.look()
    context = cluster.certificates.context()
    new = create_authority("custom-scheduler", cluster.clock.now)
    both = cluster.authority.bundle + new.bundle
    cluster.store.put(content(cluster.authority) | {"ca.crt": both, "next.key": new.key_pem})

    cluster.certificates.look()

    assert cluster.bundles() == [both] * 2
    assert cluster.certificates.context() is context


@pytest.mark.parametrize("data", [None, {}, {"ca.crt": b"garbage"}], ids=["deleted", "emptied", "garbage"])
def test_a_secret_that_lost_the_ca_gets_it_back_and_nobody_notices(data: Mapping[str, bytes] | None) -> None:
    cluster = Cluster()
    cluster.certificates.look()
    context = cluster.certificates.context()
    cluster.store.put(data)

    cluster.certificates.look()

    assert cluster.store.secret is not None
    assert cluster.store.secret.data == content(cluster.authority)
    assert cluster.validating.writes == 1
    assert cluster.certificates.context() is context


def test_an_expired_ca_is_replaced_published_and_signed_with() -> None:
    cluster = Cluster()
    cluster.certificates.look()
    cluster.clock.now += AUTHORITY_LIFETIME

    cluster.certificates.look()

    (bundle, _) = cluster.bundles()
    assert bundle != cluster.authority.bundle
    assert cluster.certificates.not_ready() == []


def test_two_workers_with_different_cas_end_with_that_of_the_secret() -> None:
    cluster = Cluster()
    other = cluster.worker(create_authority("custom-scheduler", cluster.clock.now), replica="webhook-2")

    for worker in (cluster.certificates, other) * 3:
        worker.look()

    assert cluster.bundles() == [cluster.authority.bundle] * 2
    assert cluster.validating.writes == 1


def test_without_the_secret_no_ca_is_published() -> None:
    cluster = Cluster()
    cluster.store.refusal = ApiError("forbidden", status=403)

    cluster.certificates.look()

    assert cluster.bundles() == [b"", b""]


def test_an_authority_that_has_expired_since_it_was_obtained_is_refused() -> None:
    cluster = Cluster()
    cluster.clock.now += AUTHORITY_LIFETIME

    with pytest.raises(ConfigurationError, match="the CA expired"):
        cluster.worker(cluster.authority)


def test_client_certificates_are_demanded_and_their_ca_is_followed(tmp_path: Path) -> None:
    client_ca = tmp_path / "client-ca.pem"
    first = create_authority("clients", utc_now())
    client_ca.write_bytes(first.bundle)
    cluster = Cluster(client_ca=client_ca)
    before = cluster.certificates.context()
    client_ca.write_bytes(create_authority("clients", utc_now()).bundle)

    cluster.certificates.look()

    assert before.verify_mode == ssl.CERT_REQUIRED
    assert cluster.certificates.context() is not before


@pytest.mark.parametrize(("floor", "is_served"), [("1.2", True), ("1.3", False)])
def test_a_client_of_tls_1_2_is_served_where_the_floor_is_1_2(floor: TlsVersion, is_served: bool) -> None:
    cluster = Cluster(tls_min_version=floor)
    client = strict_client(cluster.authority.bundle)
    client.maximum_version = ssl.TLSVersion.TLSv1_2

    with nullcontext() if is_served else pytest.raises(ssl.SSLError, match="protocol version"):
        shake_hands(cluster.certificates.context(), client, SERVICE)


def test_a_missing_client_ca_is_refused_at_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"client-ca\.pem can't be read"):
        Cluster(client_ca=tmp_path / "client-ca.pem")


def test_the_expiry_of_ca_and_leaf_is_measured() -> None:
    cluster = Cluster()

    cluster.certificates.look()

    leaf = served(cluster.certificates.context(), cluster.authority.bundle)
    assert expiry("ca") == cluster.authority.certificate.not_valid_after_utc.timestamp()
    assert expiry("leaf") == leaf.not_valid_after_utc.timestamp()


# --- the thread


class Written(MemoryConfiguration):
    """Tells a waiting test of each write."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.written = threading.Event()

    def patch(self, operations: Sequence[Mapping[str, str]]) -> bool:
        is_written = super().patch(operations)
        self.written.set()
        return is_written


def test_a_wiped_bundle_is_restored_when_the_watch_tells_of_it() -> None:
    cluster = Cluster()
    cluster.validating = configuration = Written("deny.pods.custom-scheduler.io")
    certificates = cluster.worker(cluster.authority)
    certificates.start()
    try:
        assert configuration.written.wait(PATIENCE_SECONDS)
        configuration.written.clear()
        configuration.wipe()

        cluster.watch.tell()

        assert configuration.written.wait(PATIENCE_SECONDS)
        assert configuration.bundles() == [cluster.authority.bundle]
    finally:
        certificates.stop()


def test_a_stop_ends_the_watch_and_the_thread() -> None:
    cluster = Cluster()
    before = threading.active_count()
    cluster.certificates.start()
    assert cluster.watch.entered.wait(PATIENCE_SECONDS)

    cluster.certificates.stop()

    assert cluster.watch.left.is_set()
    assert threading.active_count() == before


def test_a_stop_does_not_wait_for_an_api_server_that_keeps_silent(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    asked, closed = threading.Event(), threading.Event()

    def keep_silent() -> None:
        asked.set()
        assert closed.wait(PATIENCE_SECONDS)
        raise Unreachable("this process is stopping")

    cluster.validating.before_patch = keep_silent
    cluster.on_close = closed.set
    certificates = cluster.worker(cluster.authority)
    certificates.start()
    assert asked.wait(PATIENCE_SECONDS)

    with caplog.at_level(logging.ERROR):
        certificates.stop()

    assert closed.is_set()
    assert caplog.records == []


def test_a_fault_in_the_program_ends_neither_thread_nor_serving(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    cluster.validating = configuration = Written("deny.pods.custom-scheduler.io")
    met = threading.Event()

    def break_once() -> None:
        configuration.before_patch = lambda: None
        met.set()
        raise RuntimeError("a fault in the program")

    configuration.before_patch = break_once
    certificates = cluster.worker(cluster.authority)
    certificates.start()
    try:
        assert met.wait(PATIENCE_SECONDS)

        cluster.watch.tell()

        assert configuration.written.wait(PATIENCE_SECONDS)
    finally:
        certificates.stop()
    assert "looking after the certificates failed" in caplog.text


# --- files

ADMIN = create_authority("an admin", utc_now())


@pytest.fixture
def leaf() -> Leaf:
    return another_leaf()


@pytest.fixture
def files(tmp_path: Path, leaf: Leaf) -> tuple[Path, Path]:
    pair = tmp_path / "tls.crt", tmp_path / "tls.key"
    put(pair, leaf)
    return pair


def another_leaf() -> Leaf:
    return sign_leaf(ADMIN, [SERVICE], utc_now())


def put(files: tuple[Path, Path], leaf: Leaf) -> None:
    certificate, key = files
    certificate.write_bytes(leaf.certificate_pem)
    key.write_bytes(leaf.key_pem)


def test_files_are_served(files: tuple[Path, Path], leaf: Leaf) -> None:
    certificates = FileCertificates(*files)

    assert served(certificates.context(), ADMIN.bundle) == leaf.certificate
    assert certificates.not_ready() == []


def test_files_that_changed_are_served_after_a_poll(files: tuple[Path, Path]) -> None:
    certificates = FileCertificates(*files)
    new = another_leaf()
    put(files, new)

    certificates.poll()

    assert served(certificates.context(), ADMIN.bundle) == new.certificate
    assert expiry("leaf") == new.certificate.not_valid_after_utc.timestamp()


def test_files_are_polled_from_the_start_to_the_stop(files: tuple[Path, Path], leaf: Leaf) -> None:
    before = threading.active_count()
    certificates = FileCertificates(*files, poll_seconds=0.01)
    first = certificates.context()
    certificates.start()
    try:
        put(files, another_leaf())

        eventually(lambda: certificates.context() is not first)
    finally:
        certificates.stop()
    assert threading.active_count() == before


def test_files_that_went_bad_leave_the_previous_pair_served_and_ready(
    files: tuple[Path, Path], leaf: Leaf
) -> None:
    certificates = FileCertificates(*files)
    files[1].write_bytes(b"garbage")

    certificates.poll()

    assert served(certificates.context(), ADMIN.bundle) == leaf.certificate
    assert certificates.not_ready() == []


def test_files_whose_time_is_over_are_not_ready(files: tuple[Path, Path]) -> None:
    clock = Clock()
    certificates = FileCertificates(*files, clock=clock)
    clock.now += LEAF_LIFETIME

    (reason,) = certificates.not_ready()

    assert reason.startswith("the certificate served expired at ")
    assert reason.endswith(": none newer came")


def test_a_missing_file_is_a_wrong_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"tls\.crt can't be read"):
        FileCertificates(tmp_path / "tls.crt", tmp_path / "tls.key")


def test_a_configuration_that_can_not_be_read_is_told_with_the_refusal() -> None:
    cluster = Cluster()
    cluster.validating.refusal = ApiError("forbidden", status=403)

    cluster.certificates.look()

    assert cluster.certificates.not_ready() == [
        "caBundle of ValidatingWebhookConfiguration custom-scheduler not looked at yet",
        "caBundle of MutatingWebhookConfiguration custom-scheduler not looked at yet",
        "it can't be mended yet: forbidden",
    ]

    cluster.validating.refusal = None
    cluster.certificates.look()

    assert cluster.certificates.not_ready() == []
