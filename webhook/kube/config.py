"""Finding the API server and the credentials for it, through the `kubernetes` client's configuration."""

from __future__ import annotations

import os
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import urllib3
from kubernetes.client import Configuration
from kubernetes.client.rest import should_bypass_proxies
from kubernetes.config import ConfigException, load_kube_config
from kubernetes.config.incluster_config import InClusterConfigLoader
from kubernetes.utils.keepalive import tcp_keepalive_socket_options
from urllib3.exceptions import HTTPError, LocationParseError
from urllib3.util import Url, parse_url

from webhook.errors import ConfigurationError, Unreachable
from webhook.kube.transport import KubeClient

__all__ = ["connect", "user_agent"]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_CONNECTIONS = 32
_CREDENTIAL_SECONDS = 10.0


def user_agent() -> str:
    """Return how requests name this program in the API server's audit log."""
    return f"custom-scheduler/{version('custom-scheduler')}"


def connect(
    kubeconfig: Path | None = None,
    *,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> KubeClient:
    """Return a client for the cluster of the first of `kubeconfig`, $KUBECONFIG, our pod, `~/.kube/config`.

    Nothing is asked of the API server yet. TLS verification is always on; certificates and client keys are
    read once, tokens again when they expire. Raises ConfigurationError when there is no usable configuration.
    """
    named = str(kubeconfig) if kubeconfig is not None else environ.get("KUBECONFIG", "")
    configuration = Configuration()
    if not named and environ.get("KUBERNETES_SERVICE_HOST"):
        source = f"service account {service_account}"
        _load_service_account(configuration, service_account, environ)
        server, trust = _https(configuration, source), _trust(configuration, source)
    else:
        named = named or str(Path(environ.get("HOME", "~")).expanduser() / ".kube" / "config")
        source = f"kubeconfig {named}"
        # The loader writes inline certificates and keys to files: deleted once they are loaded. Not in a pod, where
        # no folder may be writable.
        with tempfile.TemporaryDirectory(prefix="custom-scheduler-") as scratch:
            _load_kubeconfig(configuration, named, context, scratch)
            server, trust = _https(configuration, source), _trust(configuration, source)
    return KubeClient(
        lambda: _pool(configuration, server, trust, source),
        authorization=_Credentials(configuration, server),
        user_agent=user_agent(),
        base_path=server.path or "",
    )


def _load_service_account(configuration: Configuration, folder: Path, environ: Mapping[str, str]) -> None:
    try:
        InClusterConfigLoader(
            token_filename=str(folder / "token"), cert_filename=str(folder / "ca.crt"), environ=dict(environ)
        ).load_and_set(configuration)
    except (ConfigException, OSError) as error:
        raise ConfigurationError(
            f"service account {folder}: {error}; let the pod mount its token "
            "(automountServiceAccountToken: true), or give --kubeconfig"
        ) from error


def _load_kubeconfig(configuration: Configuration, named: str, context: str | None, scratch: str) -> None:
    if not any(Path(each).expanduser().exists() for each in named.split(os.pathsep) if each):
        raise ConfigurationError(
            f"kubeconfig {named}: no such file; give --kubeconfig FILE, or set KUBECONFIG to one that exists"
        )
    try:
        load_kube_config(
            config_file=named, context=context, client_configuration=configuration, temp_file_path=scratch
        )
    except Exception as error:  # the loader answers a malformed file with whatever it trips on
        text = " ".join(str(error).split()).removeprefix("Invalid kube-config file. ") or type(error).__name__
        raise ConfigurationError(
            f"kubeconfig {named}: {text}; see what 'kubectl --kubeconfig {named} config view' makes of it, "
            "and choose a context with 'kubectl config use-context'"
        ) from error
    if not configuration.api_key and not configuration.cert_file:
        raise ConfigurationError(
            f"kubeconfig {named}: its context gives no credentials; expected a token, a client certificate "
            "or an exec plugin that works; try 'kubectl auth whoami' with it"
        )


def _https(configuration: Configuration, source: str) -> Url:
    """Return the server's address, refusing every way to talk to it without knowing that it is the one."""
    try:
        server = parse_url(configuration.host)
    except LocationParseError:
        server = Url()
    if server.scheme != "https" or not server.host:
        raise ConfigurationError(
            f"{source}: the server address {configuration.host!r} is not an https:// URL; "
            "credentials are only sent over TLS"
        )
    if not configuration.verify_ssl:
        raise ConfigurationError(
            f"{source}: insecure-skip-tls-verify is not accepted; "
            "remove it and name the cluster's CA in certificate-authority"
        )
    return server


def _trust(configuration: Configuration, source: str) -> ssl.SSLContext:
    """Return a context that trusts the cluster's CA (the system's, if none is named) and holds our key."""
    try:
        context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
        # Python 3.13 turns this on: it refuses CAs without a key identifier, as many clusters have.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if configuration.cert_file:
            # A password stops OpenSSL from asking for one on the terminal; a plain key ignores it.
            context.load_cert_chain(configuration.cert_file, configuration.key_file, password="")
    except OSError as error:  # ssl.SSLError is one
        raise ConfigurationError(
            f"{source}: its CA or client certificate can't be loaded ({error.strerror or error}); "
            "expected PEM, and an unencrypted key that belongs to the certificate"
        ) from error
    return context


def _pool(
    configuration: Configuration, server: Url, trust: ssl.SSLContext, source: str
) -> urllib3.HTTPSConnectionPool:
    options: dict[str, Any] = {
        "ssl_context": trust,
        "maxsize": _CONNECTIONS,
        "retries": False,
        "socket_options": tcp_keepalive_socket_options(),
    }
    if configuration.tls_server_name:
        options["server_hostname"] = configuration.tls_server_name
    try:
        if configuration.proxy and not should_bypass_proxies(
            configuration.host, configuration.no_proxy or ""
        ):
            manager: urllib3.PoolManager = urllib3.ProxyManager(configuration.proxy, **options)
        else:
            manager = urllib3.PoolManager(**options)
        pool = manager.connection_from_url(server.url)
    except (HTTPError, ValueError) as error:
        raise ConfigurationError(
            f"{source}: the proxy {configuration.proxy!r} can't be used; expected an http:// or https:// URL"
        ) from error
    assert isinstance(pool, urllib3.HTTPSConnectionPool)
    return pool


class _Credentials:
    """The Authorization header, which the loader renews when its token expires: one thread at a time."""

    def __init__(
        self, configuration: Configuration, server: Url, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._configuration = configuration
        self._server = server
        self._clock = clock
        self._lock = threading.Lock()
        self._header: str | None = None
        self._until = float("-inf")

    def __call__(self) -> str | None:
        with self._lock:
            if self._clock() >= self._until:
                try:
                    header = self._configuration.get_api_key_with_prefix("BearerToken")
                except Exception as error:
                    raise Unreachable(
                        f"API server {self._server.netloc}: our credentials can't be renewed ({error})"
                    ) from error
                # A token file often ends in a newline, which no header may hold.
                self._header = header.strip() if header else None
                self._until = self._clock() + _CREDENTIAL_SECONDS
            return self._header
