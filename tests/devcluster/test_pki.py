from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from devcluster.pki import Authority, KeyPair, new_signing_key


def files(folder: Path, pair: KeyPair) -> tuple[Path, Path]:
    certificate, key = folder / "pair.crt", folder / "pair.key"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    return certificate, key


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> Mapping[str, object]:
    """Connect the two and return the certificate that the server was shown, or raise what the client met."""
    left, right = socket.socketpair()
    shown: list[Mapping[str, object]] = []

    def serve() -> None:
        try:
            with server.wrap_socket(left, server_side=True) as tls:
                shown.append(tls.getpeercert() or {})
                tls.recv(1)
        except OSError:
            left.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with client.wrap_socket(right, server_hostname=host) as tls:
            tls.send(b"x")
    finally:
        right.close()
        thread.join(10)
    return shown[0]


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def server(authority: Authority, tmp_path: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.certificate.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(*files(tmp_path, authority.serving(["localhost", "127.0.0.1"])))
    return context


@pytest.fixture
def client(authority: Authority, tmp_path: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_cert_chain(*files(tmp_path, authority.client("someone", groups=["system:masters"])))
    return context


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_both_sides_verify_each_other_strictly(
    server: ssl.SSLContext, client: ssl.SSLContext, host: str
) -> None:
    shown = handshake(server, client, host)

    assert shown["subject"] == ((("organizationName", "system:masters"),), (("commonName", "someone"),))


def test_another_host_is_refused(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(server, client, "elsewhere.example")


def test_another_authority_is_refused(server: ssl.SSLContext) -> None:
    stranger = ssl.create_default_context(cadata=Authority().certificate.decode())

    with pytest.raises(
        ssl.SSLCertVerificationError, match=r"unable to get local issuer|self-signed|signature"
    ):
        handshake(server, stranger, "localhost")


def test_a_client_certificate_serves_nothing(authority: Authority) -> None:
    certificate = x509.load_pem_x509_certificate(authority.client("someone").certificate)

    usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value

    assert list(usages) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_the_signing_key_is_of_a_form_that_the_api_server_reads() -> None:
    pem = new_signing_key()

    key = serialization.load_pem_private_key(pem, password=None)

    assert pem.startswith(b"-----BEGIN EC PRIVATE KEY-----")
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert isinstance(key.curve, ec.SECP256R1)
