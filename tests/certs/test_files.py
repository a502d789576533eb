from __future__ import annotations

import logging
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from certs.authority import Authority, create_authority
from certs.clock import utc_now
from certs.errors import Expired, InvalidClientAuthority, InvalidPair, NotYetValid, UnreadableFile
from certs.files import CertificateFiles
from certs.leaf import Leaf, sign_leaf
from tests.certs.handshake import shake_hands, strict_client
from tests.clocks import SetClock


class Folder:
    """A Secret's volume: files are links through `..data`, which one rename points at another folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.certificate = root / "tls.crt"
        self.key = root / "tls.key"
        self._generation = 0
        for path in (self.certificate, self.key):
            path.symlink_to(f"..data/{path.name}")

    def put(self, certificate: bytes | None, key: bytes | None) -> None:
        self._generation += 1
        target = self.root / f"..{self._generation}"
        target.mkdir()
        for path, content in ((self.certificate, certificate), (self.key, key)):
            if content is not None:
                (target / path.name).write_bytes(content)
        link = self.root / "..data_tmp"
        link.symlink_to(target.name)
        link.rename(self.root / "..data")

    def put_leaf(self, leaf: Leaf) -> None:
        self.put(leaf.certificate_pem, leaf.key_pem)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return create_authority("custom-scheduler", utc_now())


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def leaf_of(authority: Authority) -> Leaf:
    return sign_leaf(authority, ["localhost"], utc_now())


def served(files: CertificateFiles, authority: Authority) -> bytes:
    seen = shake_hands(files.context, strict_client(authority.bundle), "localhost")
    return x509.load_der_x509_certificate(seen.certificate).public_bytes(Encoding.PEM)


def test_the_pair_in_the_files_is_served(folder: Folder, authority: Authority) -> None:
    leaf = leaf_of(authority)
    folder.put_leaf(leaf)

    files = CertificateFiles(folder.certificate, folder.key)

    assert served(files, authority) == leaf.certificate_pem
    assert files.expires_at == leaf.certificate.not_valid_after_utc
    assert files.fault == ""


def test_unchanged_files_keep_their_context(folder: Folder, authority: Authority) -> None:
    folder.put_leaf(leaf_of(authority))
    files = CertificateFiles(folder.certificate, folder.key)
    context = files.context

    assert not files.poll()

    assert files.context is context


def test_a_new_pair_is_served_after_the_next_poll(folder: Folder, authority: Authority) -> None:
    folder.put_leaf(leaf_of(authority))
    files = CertificateFiles(folder.certificate, folder.key)
    new = leaf_of(authority)
    folder.put_leaf(new)

    assert files.poll()

    assert served(files, authority) == new.certificate_pem
    assert files.expires_at == new.certificate.not_valid_after_utc


def test_files_written_in_place_are_reloaded_too(tmp_path: Path, authority: Authority) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    old, new = leaf_of(authority), leaf_of(authority)
    certificate.write_bytes(old.certificate_pem)
    key.write_bytes(old.key_pem)
    files = CertificateFiles(certificate, key)

    certificate.write_bytes(new.certificate_pem)
    half = files.poll()
    key.write_bytes(new.key_pem)
    whole = files.poll()

    assert (half, whole) == (False, True)
    assert served(files, authority) == new.certificate_pem
    assert files.fault == ""


def test_a_pair_that_does_not_match_leaves_the_previous_one_served(
    folder: Folder, authority: Authority
) -> None:
    old = leaf_of(authority)
    folder.put_leaf(old)
    files = CertificateFiles(folder.certificate, folder.key)
    folder.put(leaf_of(authority).certificate_pem, old.key_pem)

    assert not files.poll()

    assert served(files, authority) == old.certificate_pem
    assert files.fault == (
        f"certificate {folder.certificate} and key {folder.key} don't belong together "
        "(the key is another certificate's): put both of one pair there"
    )


@pytest.mark.parametrize("content", [None, b"", b"garbage"], ids=["missing", "empty", "garbage"])
def test_files_that_went_bad_leave_the_previous_pair_served(
    folder: Folder, authority: Authority, content: bytes | None
) -> None:
    old = leaf_of(authority)
    folder.put_leaf(old)
    files = CertificateFiles(folder.certificate, folder.key)
    folder.put(content, content)

    assert not files.poll()

    assert served(files, authority) == old.certificate_pem
    assert str(folder.certificate) in files.fault


def test_the_previous_pair_put_back_clears_the_fault(folder: Folder, authority: Authority) -> None:
    leaf = leaf_of(authority)
    folder.put_leaf(leaf)
    files = CertificateFiles(folder.certificate, folder.key)
    folder.put(b"garbage", b"garbage")
    files.poll()
    folder.put_leaf(leaf)

    assert not files.poll()

    assert files.fault == ""


def test_a_fault_is_logged_once_however_often_it_is_polled(
    folder: Folder, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    folder.put_leaf(leaf_of(authority))
    files = CertificateFiles(folder.certificate, folder.key)
    folder.put(b"garbage", b"garbage")

    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            files.poll()

    (record,) = caplog.records
    assert record.getMessage().endswith("; serving the previous pair")


def test_good_files_after_bad_ones_clear_the_fault(folder: Folder, authority: Authority) -> None:
    folder.put_leaf(leaf_of(authority))
    files = CertificateFiles(folder.certificate, folder.key)
    folder.put(b"garbage", b"garbage")
    files.poll()
    folder.put_leaf(leaf_of(authority))

    assert files.poll()

    assert files.fault == ""


def test_a_pair_whose_time_comes_is_served_without_another_change(
    folder: Folder, authority: Authority
) -> None:
    clock = SetClock(utc_now())
    later = create_authority("custom-scheduler", clock.now + timedelta(days=2))
    folder.put_leaf(leaf_of(authority))
    files = CertificateFiles(folder.certificate, folder.key, clock=clock)
    folder.put_leaf(sign_leaf(later, ["localhost"], clock.now + timedelta(days=2)))

    early = files.poll()
    clock.now += timedelta(days=2)
    in_time = files.poll()

    assert (early, in_time) == (False, True)


def test_a_missing_file_is_told_with_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile) as error:
        CertificateFiles(tmp_path / "tls.crt", tmp_path / "tls.key")

    assert str(error.value) == (
        f"{tmp_path}/tls.crt can't be read (No such file or directory): "
        "put the PEM file there and let this user read it"
    )


def test_a_folder_in_place_of_a_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="Is a directory"):
        CertificateFiles(tmp_path, tmp_path)


def test_a_mismatch_at_start_names_both_files(folder: Folder, authority: Authority) -> None:
    folder.put(leaf_of(authority).certificate_pem, leaf_of(authority).key_pem)

    with pytest.raises(InvalidPair) as error:
        CertificateFiles(folder.certificate, folder.key)

    assert str(folder.certificate) in str(error.value)
    assert str(folder.key) in str(error.value)


def test_an_expired_certificate_at_start_is_refused(folder: Folder, authority: Authority) -> None:
    leaf = leaf_of(authority)
    folder.put_leaf(leaf)

    with pytest.raises(Expired, match=r"expired at .*: renew it, together with its key"):
        CertificateFiles(folder.certificate, folder.key, clock=lambda: leaf.certificate.not_valid_after_utc)


def test_a_certificate_from_the_future_at_start_is_refused(folder: Folder, authority: Authority) -> None:
    folder.put_leaf(leaf_of(authority))

    with pytest.raises(NotYetValid):
        CertificateFiles(folder.certificate, folder.key, clock=lambda: datetime(1970, 1, 1, tzinfo=UTC))


def test_an_encrypted_key_is_refused(folder: Folder, authority: Authority) -> None:
    leaf = leaf_of(authority)
    encrypted = leaf.key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"passphrase")
    )
    folder.put(leaf.certificate_pem, encrypted)

    with pytest.raises(InvalidPair, match=r"^key .*/tls\.key is encrypted: put the key there without"):
        CertificateFiles(folder.certificate, folder.key)


def test_another_client_authority_is_demanded_after_the_next_poll(
    folder: Folder, authority: Authority, tmp_path: Path
) -> None:
    client_ca = tmp_path / "client-ca.pem"
    client_ca.write_bytes(authority.bundle)
    folder.put_leaf(leaf_of(authority))
    files = CertificateFiles(folder.certificate, folder.key, client_ca=client_ca)
    before = files.context
    client_ca.write_bytes(create_authority("another", utc_now()).bundle)

    assert files.poll()

    assert files.context is not before


def test_garbage_in_place_of_the_client_authority_is_refused_at_start(
    folder: Folder, authority: Authority, tmp_path: Path
) -> None:
    client_ca = tmp_path / "client-ca.pem"
    client_ca.write_bytes(b"garbage")
    folder.put_leaf(leaf_of(authority))

    with pytest.raises(InvalidClientAuthority, match=f"^client CA {client_ca} holds no PEM certificate"):
        CertificateFiles(folder.certificate, folder.key, client_ca=client_ca)


def signed_by_itself() -> tuple[bytes, bytes]:
    """A certificate and its key as Go's x509 makes them where one signs itself: without an AuthorityKeyIdentifier."""
    key = generate_private_key(SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = utc_now()
    builder = x509.CertificateBuilder(
        issuer_name=name,
        subject_name=name,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - timedelta(hours=1),
        not_valid_after=now + timedelta(days=90),
    )
    certificate = builder.sign(key, SHA256()).public_bytes(Encoding.PEM)
    return certificate, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def test_a_certificate_that_signs_itself_waits_each_time_that_it_is_made_anew(folder: Folder) -> None:
    folder.put(*signed_by_itself())
    seconds = [0.0]
    files = CertificateFiles(folder.certificate, folder.key, settle_seconds=60, boot_clock=lambda: seconds[0])
    folder.put(*signed_by_itself())

    served = []
    for seconds[0] in (1.0, 60.0, 61.0):
        served.append(files.poll())

    assert served == [False, False, True]


@pytest.fixture
def watched(folder: Folder, authority: Authority, tmp_path: Path) -> tuple[CertificateFiles, Path]:
    """Files that are served, and that of the client CA."""
    client_ca = tmp_path / "client-ca.pem"
    client_ca.write_bytes(authority.bundle)
    folder.put_leaf(leaf_of(authority))
    return CertificateFiles(folder.certificate, folder.key, client_ca=client_ca), client_ca


def test_a_client_authority_that_is_spoilt_keeps_no_renewed_pair_from_being_served(
    watched: tuple[CertificateFiles, Path], folder: Folder, authority: Authority
) -> None:
    files, client_ca = watched
    before = files.context
    client_ca.write_bytes(b"garbage")
    folder.put_leaf(leaf_of(authority))

    assert files.poll()

    assert files.context is not before
    assert files.context.verify_mode == ssl.CERT_REQUIRED
    assert files.fault.startswith(f"client CA {client_ca} holds no PEM certificate")


def test_a_client_authority_that_is_mended_leaves_no_fault(
    watched: tuple[CertificateFiles, Path], authority: Authority
) -> None:
    files, client_ca = watched
    client_ca.unlink()
    files.poll()
    before = files.fault
    client_ca.write_bytes(authority.bundle)
    files.poll()

    assert (bool(before), files.fault) == (True, "")


def test_a_file_larger_than_any_secret_is_refused(folder: Folder, authority: Authority) -> None:
    leaf = leaf_of(authority)
    folder.put(leaf.certificate_pem + b"\n" * 1024 * 1024, leaf.key_pem)

    with pytest.raises(UnreadableFile, match=f"^{folder.certificate} is larger than 1 MiB: "):
        CertificateFiles(folder.certificate, folder.key)


def test_a_file_that_grew_without_end_leaves_the_previous_pair_served(
    folder: Folder, authority: Authority
) -> None:
    old = leaf_of(authority)
    folder.put_leaf(old)
    files = CertificateFiles(folder.certificate, folder.key)
    folder.key.unlink()
    folder.key.symlink_to("/dev/zero")

    assert not files.poll()

    assert served(files, authority) == old.certificate_pem
    assert "is larger than 1 MiB" in files.fault


def test_the_floor_of_tls_versions_holds_after_a_reload(folder: Folder, authority: Authority) -> None:
    folder.put_leaf(leaf_of(authority))
    files = CertificateFiles(folder.certificate, folder.key, tls_min_version="1.2")
    folder.put_leaf(leaf_of(authority))

    assert files.poll()

    assert files.context.minimum_version == ssl.TLSVersion.TLSv1_2


# --- the certificate of another CA


@pytest.fixture
def other() -> Authority:
    return create_authority("custom-scheduler", utc_now())


@pytest.fixture
def boot() -> SetClock[float]:
    return SetClock(1000.0)


@pytest.fixture
def settling(folder: Folder, authority: Authority, boot: SetClock[float]) -> CertificateFiles:
    folder.put_leaf(leaf_of(authority))
    return CertificateFiles(folder.certificate, folder.key, settle_seconds=60, boot_clock=boot)


def test_the_certificate_of_another_ca_is_served_when_that_is_known(
    folder: Folder, authority: Authority, other: Authority, boot: SetClock[float], settling: CertificateFiles
) -> None:
    folder.put_leaf(leaf_of(other))

    at_first = settling.poll()
    boot.now += 59
    shortly_before = settling.poll()
    served(settling, authority)
    boot.now += 1
    in_time = settling.poll()

    assert (at_first, shortly_before, in_time) == (False, False, True)
    assert settling.fault == ""
    served(settling, other)


def test_a_certificate_of_the_same_ca_is_served_at_once(
    folder: Folder, authority: Authority, settling: CertificateFiles
) -> None:
    folder.put_leaf(leaf_of(authority))

    assert settling.poll()


def test_a_newer_certificate_of_the_ca_that_comes_waits_no_longer(
    folder: Folder, other: Authority, boot: SetClock[float], settling: CertificateFiles
) -> None:
    folder.put_leaf(leaf_of(other))
    settling.poll()
    boot.now += 60
    folder.put_leaf(leaf_of(other))

    assert settling.poll()


def test_a_ca_that_gave_way_to_yet_another_is_not_counted_for_it(
    folder: Folder, other: Authority, boot: SetClock[float], settling: CertificateFiles
) -> None:
    folder.put_leaf(leaf_of(other))
    settling.poll()
    boot.now += 60
    folder.put_leaf(leaf_of(create_authority("custom-scheduler", utc_now())))

    assert not settling.poll()


def test_a_ca_that_went_and_came_again_waits_anew(
    folder: Folder, authority: Authority, other: Authority, boot: SetClock[float], settling: CertificateFiles
) -> None:
    folder.put_leaf(leaf_of(other))
    settling.poll()
    folder.put_leaf(leaf_of(authority))
    settling.poll()
    boot.now += 60
    folder.put_leaf(leaf_of(other))

    assert not settling.poll()


def test_nothing_waits_for_a_certificate_that_has_expired(
    folder: Folder, authority: Authority, other: Authority, boot: SetClock[float]
) -> None:
    clock = SetClock(utc_now())
    leaf = leaf_of(authority)
    folder.put_leaf(leaf)
    files = CertificateFiles(folder.certificate, folder.key, settle_seconds=60, clock=clock, boot_clock=boot)
    clock.now = leaf.certificate.not_valid_after_utc
    folder.put_leaf(sign_leaf(other, ["localhost"], clock.now))

    assert files.poll()


def test_the_wait_is_told_once(
    folder: Folder, other: Authority, settling: CertificateFiles, caplog: pytest.LogCaptureFixture
) -> None:
    folder.put_leaf(leaf_of(other))

    with caplog.at_level(logging.INFO):
        for _ in range(3):
            settling.poll()

    (record,) = caplog.records
    assert record.getMessage() == (
        f"certificate {folder.certificate} is of another CA than the one served: it is served in 60 s, "
        "when API servers have learned of that CA"
    )


def test_two_keys_of_one_name_are_two_cas(folder: Folder, tmp_path: Path, boot: SetClock[float]) -> None:
    # cert-manager gives a renewed CA the name of the one before.
    one, two = (trustme_ca("custom-scheduler issuer") for _ in range(2))
    folder.put(*pair_of(one))
    files = CertificateFiles(folder.certificate, folder.key, settle_seconds=60, boot_clock=boot)
    folder.put(*pair_of(two))

    assert not files.poll()


def trustme_ca(name: str) -> trustme.CA:
    return trustme.CA(organization_name=name, organization_unit_name=name)


def pair_of(ca: trustme.CA) -> tuple[bytes, bytes]:
    leaf = ca.issue_cert("localhost")
    return leaf.cert_chain_pems[0].bytes(), leaf.private_key_pem.bytes()
