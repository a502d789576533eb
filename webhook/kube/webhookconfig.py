"""The two webhook configurations of one name: their entries, and JSON Patches to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from webhook.errors import ApiError
from webhook.kube.meta import ObjectMeta
from webhook.kube.transport import KubeClient
from webhook.kube.watching import Place

__all__ = [
    "ClientConfig",
    "ReadConfiguration",
    "ServiceReference",
    "WebhookConfiguration",
    "WebhookConfigurations",
    "WebhookEntry",
]

_API = "/apis/admissionregistration.k8s.io/v1"

# github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1: WantInjectAnnotation, WantInjectFromSecretAnnotation
_INJECTED = frozenset({"cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret"})


class ServiceReference(msgspec.Struct, frozen=True):
    """The Service that the API server calls, with the defaults of the API."""

    name: str = ""
    namespace: str = ""
    path: str = ""
    port: int = 443


class ClientConfig(msgspec.Struct, frozen=True, rename="camel"):
    """How the API server reaches a webhook: `ca_bundle` is PEM, `url` None where a Service is called."""

    ca_bundle: bytes = b""
    url: str | None = None
    service: ServiceReference | None = None


class WebhookEntry(msgspec.Struct, frozen=True, rename="camel"):
    """One of `webhooks`; its selector is JSON, which whoever judges it decodes."""

    name: str
    client_config: ClientConfig = ClientConfig()
    failure_policy: str = "Fail"
    namespace_selector: msgspec.Raw = msgspec.Raw(b"{}")


class ReadConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration as it was at one moment."""

    resource_version: str
    webhooks: tuple[WebhookEntry, ...]
    is_injected: bool = False
    """Whether it asks cert-manager's injector for a CA in its caBundles."""


class WebhookConfiguration:
    """One configuration in the cluster, of the kind whose resource is `resource`."""

    def __init__(self, client: KubeClient, kind: str, name: str) -> None:
        self.label = f"{kind} {name}"
        self.place = Place(list_path=f"{_API}/{kind.lower()}s", name=name)
        self._path = f"{self.place.list_path}/{name}"
        self._client = client

    def read(self) -> ReadConfiguration | None:
        """Return it as it is now, or None if there is no such configuration; raises ClusterError."""
        try:
            raw = self._client.request("GET", self._path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        decoded = msgspec.json.decode(raw, type=_Configuration)
        return ReadConfiguration(
            resource_version=decoded.metadata.resource_version,
            webhooks=decoded.webhooks or (),
            is_injected=not _INJECTED.isdisjoint(decoded.metadata.annotations or ()),
        )

    def patch(self, operations: Sequence[Mapping[str, str]]) -> bool:
        """Apply a JSON Patch; False where a `test` failed. Raises ClusterError."""
        try:
            self._client.request(
                "PATCH",
                self._path,
                body=msgspec.json.encode(operations),
                content_type="application/json-patch+json",
            )
        except ApiError as error:
            # A patch that doesn't apply has no causes, and no words of its own (k8s.io/apiserver
            # pkg/endpoints/handlers/patch.go, applyJSPatch). An object that would be invalid has a cause for each field.
            if error.status == 422 and not error.causes:
                return False
            raise
        return True


class WebhookConfigurations:
    """The validating and the mutating configuration that share a name."""

    def __init__(self, client: KubeClient, name: str) -> None:
        self.validating = WebhookConfiguration(client, "ValidatingWebhookConfiguration", name)
        self.mutating = WebhookConfiguration(client, "MutatingWebhookConfiguration", name)

    def __iter__(self) -> Iterator[WebhookConfiguration]:
        """Both, the validating one first."""
        return iter((self.validating, self.mutating))


class _Configuration(msgspec.Struct):
    metadata: ObjectMeta = ObjectMeta()
    webhooks: tuple[WebhookEntry, ...] | None = None
