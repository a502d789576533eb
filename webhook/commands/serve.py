"""`custom-scheduler serve`: the admission server and, beside it, the binder thread."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from certs.custody import Custody
from certs.leaf import service_hosts
from webhook.kube.config import connect
from webhook.kube.replicas import Pod, ReplicaLeases, replica_name
from webhook.kube.secrets import KubeSecretStore
from webhook.kube.watching import watching
from webhook.kube.webhookconfig import WebhookConfigurations
from webhook.observe.exposition import forget_worker
from webhook.policy.names import CA_SECRET, CONFIGURATIONS, SERVICE
from webhook.policy.reload import PolicySource
from webhook.server.certificates import FileCertificates, SelfSignedCertificates
from webhook.server.custodian import Custodian
from webhook.server.obtain import obtain_custody
from webhook.server.registration import Registration
from webhook.server.service import AdmissionService
from webhook.serving.application import serve
from webhook.serving.options import ServingOptions
from webhook.serving.service import Certificates
from webhook.serving.slots import WorkerSlots
from webhook.settings import ServeSettings, own_namespace

if TYPE_CHECKING:
    from webhook.binder.service import BinderService

__all__ = ["run"]

log = logging.getLogger("custom_scheduler.commands")


def run(settings: ServeSettings) -> int:
    """Serve until SIGTERM and return the exit code; raises CustomSchedulerError for what can't be started."""
    policy = PolicySource(settings.policy, own_namespace=settings.namespace)
    binder = _binder(settings)
    with closing(WorkerSlots()) as slots:
        certificates = _certificates(settings, slots)

        def make_service() -> AdmissionService:
            return AdmissionService(policy=policy, certificates=certificates(), companion=binder)

        return serve(ServingOptions.of(settings), make_service, on_worker_exit=forget_worker)


def _binder(settings: ServeSettings) -> Callable[[], BinderService] | None:
    if not settings.binder:
        return None
    # 8 MiB in each worker, numpy above all, that a webhook without the binder has no use for.
    from webhook.commands.scheduler import Scheduler

    scheduler = Scheduler(
        scheduler_config=settings.scheduler_config,
        kubeconfig=settings.kubeconfig,
        namespace=settings.namespace,
    )
    if scheduler.plugin_sources:
        log.warning(
            "plugins of others run in the process that answers admission, and a slow one slows both; "
            "serve --no-binder and custom-scheduler binder keep them apart"
        )
    return scheduler.build


def _certificates(settings: ServeSettings, slots: WorkerSlots) -> Callable[[], Certificates]:
    """Return what makes a worker's certificates, after finding here, before any fork, whether it can."""
    if settings.tls_cert is not None and settings.tls_key is not None:
        in_files = FileCertificates(
            settings.tls_cert,
            settings.tls_key,
            client_ca=settings.client_ca,
            tls_min_version=settings.tls_min_version,
            settle_seconds=settings.ca_settle_seconds,
        )
        return lambda: in_files
    # A worker gets the CA through the fork, and connections of its own: sockets don't survive being shared.
    with closing(connect(settings.kubeconfig)) as client:
        custody = obtain_custody(
            KubeSecretStore(client, namespace=settings.namespace, name=CA_SECRET),
            ReplicaLeases(client, namespace=settings.namespace),
            clock=client.now,
        )
    return lambda: _self_signed(settings, custody, slots)


def _self_signed(settings: ServeSettings, custody: Custody, slots: WorkerSlots) -> SelfSignedCertificates:
    client = connect(settings.kubeconfig)
    configurations = WebhookConfigurations(client, CONFIGURATIONS)

    store = KubeSecretStore(client, namespace=settings.namespace, name=CA_SECRET)
    custodian = Custodian(
        custody,
        replica=_replica(settings, slots),
        store=store,
        registrations=[
            Registration(configuration, settle_seconds=settings.ca_settle_seconds, clock=client.now)
            for configuration in configurations
        ],
        leases=ReplicaLeases(client, namespace=settings.namespace, pod=_pod(settings)),
        settle_seconds=settings.ca_settle_seconds,
        clock=client.now,
    )
    return SelfSignedCertificates(
        hosts=service_hosts(SERVICE, settings.namespace),
        custodian=custodian,
        watch=partial(watching, client, [store.place, *(each.place for each in configurations)]),
        close=client.close,
        client_ca=settings.client_ca,
        tls_min_version=settings.tls_min_version,
        clock=client.now,
        leaf_lifetime=timedelta(hours=settings.leaf_hours),
    )


def _replica(settings: ServeSettings, slots: WorkerSlots) -> str:
    name = replica_name(settings.replica or socket.gethostname())
    # Each worker signs a leaf of its own. One that replaces another takes over its Lease.
    return name if settings.workers == 1 else f"{name}-{slots.take()}"


def _pod(settings: ServeSettings) -> Pod | None:
    # An object is owned only within its namespace: for others, the garbage collector finds no owner and deletes it.
    if settings.pod_uid is None or settings.namespace != own_namespace(None):
        return None
    return Pod(name=settings.replica or socket.gethostname(), uid=settings.pod_uid)
