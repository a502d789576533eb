"""`custom-scheduler binder`: the scheduler alone, in a process of its own."""

from __future__ import annotations

import logging
from contextlib import closing

import msgspec

from webhook.commands.scheduler import Scheduler
from webhook.commands.stopping import StopSignals
from webhook.observe.exposition import exposition
from webhook.serving.ops import OpsServer
from webhook.serving.sockets import address_of, listen
from webhook.settings import BinderSettings

__all__ = ["run"]

log = logging.getLogger("custom_scheduler.commands")


def run(settings: BinderSettings) -> int:
    """Place pods until SIGTERM or SIGINT, and return 0; raises CustomSchedulerError for what can't be started."""
    scheduler = Scheduler(
        scheduler_config=settings.scheduler_config,
        kubeconfig=settings.kubeconfig,
        namespace=settings.namespace,
    )
    listener = listen(settings.ops_host, settings.ops_port, option="--ops-port")
    with closing(StopSignals()) as signals:
        service = scheduler.build()
        ops = OpsServer(
            listener,
            not_ready=service.not_ready,
            metrics=exposition,
            component="binder",
            documents={"/plugins": lambda: msgspec.json.encode(service.plugin_states())},
        )
        service.start()
        ops.start()
        log.info(
            "scheduling for %s, operations on http://%s", ", ".join(scheduler.names), address_of(listener)
        )
        signals.wait()
        log.info("stopping; a second signal stops at once")
        service.stop()  # which waits for what is under way: a plugin, for as long as that takes
        ops.close()
    log.info("stopped")
    return 0
