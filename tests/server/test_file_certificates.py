"""Certificates that others keep in files, as a worker serves them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from certs.authority import create_authority
from certs.clock import utc_now
from certs.leaf import LEAF_LIFETIME, Leaf, sign_leaf
from tests.server.signing import SERVICE, Clock, expiry, served
from tests.waiting import eventually
from webhook.errors import ConfigurationError
from webhook.server.certificates import FileCertificates

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
