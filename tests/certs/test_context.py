from __future__ import annotations

import os
import ssl
import threading
from datetime import timedelta
from pathlib import Path

import pytest
import trustme

from certs.authority import Authority, create_authority
from certs.clock import utc_now
from certs.context import ClientAuthority, server_context
from certs.errors import InvalidClientAuthority, InvalidPair
from certs.leaf import Leaf, sign_leaf
from tests.certs.handshake import shake_hands, strict_client


@pytest.fixture(scope="module")
def authority() -> Authority:
    return create_authority("custom-scheduler", utc_now() - timedelta(days=1))


@pytest.fixture(scope="module")
def leaf(authority: Authority) -> Leaf:
    return sign_leaf(authority, ["localhost"], utc_now())


def accepted(authority: trustme.CA) -> ClientAuthority:
    return ClientAuthority(pem=authority.cert_pem.bytes(), name="client CA")


def descriptors() -> set[str]:
    # The listing's own descriptor is gone again by the time its target is read.
    targets = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            targets.add(f"{entry.name} {entry.readlink()}")
        except FileNotFoundError:
            continue
    return targets


def test_tls_1_3_is_spoken_by_default(authority: Authority, leaf: Leaf) -> None:
    seen = shake_hands(
        server_context(leaf.certificate_pem, leaf.key_pem), strict_client(authority.bundle), "localhost"
    )

    assert seen.version == "TLSv1.3"


@pytest.fixture
def old_client(authority: Authority) -> ssl.SSLContext:
    client = strict_client(authority.bundle)
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    return client


def test_who_knows_tls_1_2_alone_is_refused(leaf: Leaf, old_client: ssl.SSLContext) -> None:
    with pytest.raises(ssl.SSLError, match="alert protocol version"):
        shake_hands(server_context(leaf.certificate_pem, leaf.key_pem), old_client, "localhost")


def test_a_floor_of_1_2_lets_them_in(leaf: Leaf, old_client: ssl.SSLContext) -> None:
    server = server_context(leaf.certificate_pem, leaf.key_pem, tls_min_version="1.2")

    assert shake_hands(server, old_client, "localhost").version == "TLSv1.2"


def test_a_floor_of_1_2_keeps_nobody_from_1_3(authority: Authority, leaf: Leaf) -> None:
    server = server_context(leaf.certificate_pem, leaf.key_pem, tls_min_version="1.2")

    assert shake_hands(server, strict_client(authority.bundle), "localhost").version == "TLSv1.3"


def test_nothing_older_than_1_2_can_be_asked_for(leaf: Leaf) -> None:
    server = server_context(leaf.certificate_pem, leaf.key_pem, tls_min_version="1.2")

    assert server.minimum_version == ssl.TLSVersion.TLSv1_2


def test_each_context_is_a_new_one(leaf: Leaf) -> None:
    one = server_context(leaf.certificate_pem, leaf.key_pem)

    assert server_context(leaf.certificate_pem, leaf.key_pem) is not one


def test_neither_a_descriptor_nor_a_file_is_left_behind(
    leaf: Leaf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = descriptors()

    server_context(leaf.certificate_pem, leaf.key_pem)

    assert descriptors() == before
    assert list(tmp_path.iterdir()) == []


def test_no_descriptor_is_left_behind_by_a_refusal(leaf: Leaf) -> None:
    before = descriptors()

    with pytest.raises(InvalidPair):
        server_context(leaf.certificate_pem, b"garbage")

    assert descriptors() == before


def test_a_key_is_never_inherited_by_a_child(leaf: Leaf, monkeypatch: pytest.MonkeyPatch) -> None:
    inheritable = []
    close = os.close

    def watched_close(descriptor: int) -> None:
        inheritable.append(os.get_inheritable(descriptor))
        close(descriptor)

    monkeypatch.setattr(os, "close", watched_close)

    server_context(leaf.certificate_pem, leaf.key_pem)

    assert inheritable == [False]


def test_a_chain_is_sent_whole() -> None:
    root = trustme.CA()
    leaf = root.create_child_ca().issue_cert("localhost")
    server = server_context(
        b"".join(blob.bytes() for blob in leaf.cert_chain_pems), leaf.private_key_pem.bytes()
    )
    client = ssl.create_default_context(cadata=root.cert_pem.bytes().decode())

    seen = shake_hands(server, client, "localhost")

    assert ssl.DER_cert_to_PEM_cert(seen.certificate).split() == (
        leaf.cert_chain_pems[0].bytes().decode().split()
    )


def test_a_pair_that_openssl_refuses_is_told_in_one_line(leaf: Leaf, authority: Authority) -> None:
    with pytest.raises(
        InvalidPair, match=r"^OpenSSL refuses the pair \(KEY_VALUES_MISMATCH\): issue it anew"
    ):
        server_context(leaf.certificate_pem, authority.key_pem)


def test_contexts_can_be_built_by_many_threads_at_once(authority: Authority, leaf: Leaf) -> None:
    contexts = []
    threads = [
        threading.Thread(target=lambda: contexts.append(server_context(leaf.certificate_pem, leaf.key_pem)))
        for _ in range(8)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(contexts) == 8
    for context in contexts:
        shake_hands(context, strict_client(authority.bundle), "localhost")


def test_a_client_with_a_certificate_of_the_client_authority_is_served(
    authority: Authority, leaf: Leaf
) -> None:
    client_authority = trustme.CA()
    server = server_context(leaf.certificate_pem, leaf.key_pem, client_ca=accepted(client_authority))
    client = strict_client(authority.bundle)
    client_authority.issue_cert("api-server").configure_cert(client)

    shake_hands(server, client, "localhost")


def test_what_people_wrote_beside_the_client_authority_changes_nothing(
    authority: Authority, leaf: Leaf
) -> None:
    client_authority = trustme.CA()
    commented = "# für die Prüfung\n".encode("latin-1") + client_authority.cert_pem.bytes() + "# é\n".encode()
    client_ca = ClientAuthority(pem=commented, name="client CA")
    server = server_context(leaf.certificate_pem, leaf.key_pem, client_ca=client_ca)
    client = strict_client(authority.bundle)
    client_authority.issue_cert("api-server").configure_cert(client)

    shake_hands(server, client, "localhost")


def test_a_client_with_a_certificate_of_another_authority_is_not_served(
    authority: Authority, leaf: Leaf
) -> None:
    server = server_context(leaf.certificate_pem, leaf.key_pem, client_ca=accepted(trustme.CA()))
    client = strict_client(authority.bundle)
    trustme.CA().issue_cert("api-server").configure_cert(client)

    with pytest.raises(ssl.SSLError, match="unknown ca"):
        shake_hands(server, client, "localhost")


def test_a_client_without_a_certificate_is_not_served_where_one_is_demanded(
    authority: Authority, leaf: Leaf
) -> None:
    server = server_context(leaf.certificate_pem, leaf.key_pem, client_ca=accepted(trustme.CA()))

    with pytest.raises(ssl.SSLError, match="certificate required"):
        shake_hands(server, strict_client(authority.bundle), "localhost")


@pytest.mark.parametrize("garbage", [b"", b"garbage", "exämple".encode()])
def test_garbage_in_place_of_the_client_authority_is_refused(leaf: Leaf, garbage: bytes) -> None:
    with pytest.raises(InvalidClientAuthority, match=r"^client CA /tls/ca\.crt holds no PEM certificate"):
        server_context(
            leaf.certificate_pem,
            leaf.key_pem,
            client_ca=ClientAuthority(pem=garbage, name="client CA /tls/ca.crt"),
        )
