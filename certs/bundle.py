"""caBundle in a webhook configuration: which entries need which, as a JSON Patch. Pure.

Why a JSON Patch and not server-side apply: an applier co-owns the entry, and a later apply by the admin that
drops the entry then fails, since what stays of it would be a caBundle without a name.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from typing import Protocol
from urllib.parse import urlsplit

from cryptography import x509

from certs.leaf import is_host
from certs.pair import pem_of

__all__ = [
    "ClientConfig",
    "Configured",
    "WebhookEntry",
    "amended",
    "bundle_patch",
    "bundles",
    "certificates_in",
    "entries_without",
    "url_hosts",
]


class ClientConfig(Protocol):
    """The part of an entry that says how the API server reaches the webhook."""

    @property
    def ca_bundle(self) -> bytes:
        """The PEM that was in caBundle, decoded from base64; empty if there was none."""

    @property
    def url(self) -> str | None:
        """The URL to call, or None if a Service is called."""


class WebhookEntry(Protocol):
    """One of `webhooks` in a ValidatingWebhookConfiguration or a MutatingWebhookConfiguration."""

    @property
    def name(self) -> str:
        """Unique among the entries of its configuration."""

    @property
    def client_config(self) -> ClientConfig:
        """How the API server reaches it."""


class Configured(Protocol):
    """A webhook configuration as it was when it was read."""

    @property
    def resource_version(self) -> str:
        """Which write of the configuration this is."""

    @property
    def webhooks(self) -> Sequence[WebhookEntry]:
        """Its entries."""


def bundles(entries: Sequence[WebhookEntry], names: Collection[str]) -> list[bytes]:
    """Return the caBundle of each entry among `names`, decoded; empty where it has none."""
    return [entry.client_config.ca_bundle for entry in entries if entry.name in names]


@lru_cache(maxsize=64)
def certificates_in(bundle: bytes) -> tuple[x509.Certificate, ...]:
    """Return the certificates of a caBundle, each once, in their order; none where one is garbage."""
    try:
        return tuple(dict.fromkeys(x509.load_pem_x509_certificates(bundle)))
    except ValueError:
        return ()


def amended(present: bytes, ours: bytes, stays: Callable[[x509.Certificate], bool]) -> bytes:
    """Return the caBundle that is to take the place of `present`: `ours`, and what `stays` of what others put there."""
    own = certificates_in(ours)
    return ours + pem_of(each for each in certificates_in(present) if each not in own and stays(each))


def entries_without(bundle: bytes, entries: Sequence[WebhookEntry], names: Collection[str]) -> frozenset[str]:
    """Return the name of each entry among `names` whose caBundle lacks a certificate of `bundle`.

    An entry that somebody else added to the configuration isn't among `names`: its trust is their matter.
    """
    wanted = set(certificates_in(bundle))
    return frozenset(
        entry.name
        for entry in entries
        if entry.name in names and not wanted <= set(certificates_in(entry.client_config.ca_bundle))
    )


def bundle_patch(
    wanted: Callable[[bytes], bytes], configured: Configured, names: Collection[str]
) -> list[dict[str, str]]:
    """Return the JSON Patch (RFC 6902) by which each entry among `names` has the caBundle that is wanted; else empty.

    `wanted` is given what an entry has now. What it returns is written where that is another text, byte for byte.

    The patch tests first that nobody has written the configuration since it was read. So whoever reads the
    configuration, then the Secret, and then writes, can't put an older bundle over a newer one, however long it was
    held up. The name of each entry is tested as well, so that the patch says by itself what it writes where.
    """
    operations = []
    for index, entry in enumerate(configured.webhooks):
        present = entry.client_config.ca_bundle
        if entry.name not in names or (bundle := wanted(present)) == present:
            continue
        value = base64.b64encode(bundle).decode("ascii")
        operations += [
            {"op": "test", "path": f"/webhooks/{index}/name", "value": entry.name},
            {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": value},
        ]
    if not operations:
        return []
    unchanged = {"op": "test", "path": "/metadata/resourceVersion", "value": configured.resource_version}
    return [unchanged, *operations]


def url_hosts(entries: Sequence[WebhookEntry], names: Collection[str]) -> frozenset[str]:
    """Return the hosts in the URLs of the entries among `names`, as a leaf has to carry them."""
    return frozenset(_hosts(entries, names))


def _hosts(entries: Sequence[WebhookEntry], names: Collection[str]) -> Iterator[str]:
    for entry in entries:
        if entry.name not in names or entry.client_config.url is None:
            continue
        try:
            # Go asks for the name without its root dot: crypto/tls hostnameInSNI, crypto/x509 matchHostnames
            host = (urlsplit(entry.client_config.url).hostname or "").removesuffix(".")
        except ValueError:  # such as an unclosed bracket
            continue
        # A name that no certificate can hold must not keep the others from being served.
        if is_host(host):
            yield host
