"""The webhook that bench-serving compares ours with: the same decision on kopf.

`kopf run` asks a cluster which resources it has before it serves; here they are given, and kopf's own webhook
server and dispatch are joined as kopf/_core/reactor/running.py joins them.
"""

from __future__ import annotations

import argparse
import functools
from typing import Any

import kopf
import uvloop
from kopf._cogs.aiokits.aiovalues import Container
from kopf._cogs.structs.references import Insights, Resource
from kopf._core.engines.admission import admission_webhook_server, serve_admission_request
from kopf._core.engines.indexing import OperatorIndexers
from kopf._core.reactor.inventory import ResourceMemories


@kopf.on.validate("v1", "pods", id="validate")  # type: ignore[untyped-decorator]  # kopf isn't in our environment
async def require_label(labels: kopf.Labels, **_: Any) -> None:
    """Deny a pod that lacks the label."""
    if "custom" not in labels:
        raise kopf.AdmissionError("Pod must have custom label", code=403)


async def serve(*, port: int, certificate: str, key: str) -> None:
    """Serve until cancelled."""
    settings = kopf.OperatorSettings()
    settings.admission.server = kopf.WebhookServer(
        addr="127.0.0.1", port=port, certfile=certificate, pkeyfile=key
    )
    registry = kopf.get_default_registry()
    insights = Insights()
    insights.webhook_resources.add(Resource("", "v1", "pods", kind="Pod", namespaced=True))
    insights.ready_resources.set()
    answer = functools.partial(
        serve_admission_request,
        settings=settings,
        registry=registry,
        insights=insights,
        memories=ResourceMemories(),
        memobase=kopf.Memo(),
        indices=OperatorIndexers().indices,
    )
    await admission_webhook_server(
        settings=settings, registry=registry, insights=insights, webhookfn=answer, container=Container()
    )


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--tls-cert", required=True)
    parser.add_argument("--tls-key", required=True)
    options = parser.parse_args()
    kopf.configure()  # the logging that `kopf run` sets up
    uvloop.run(serve(port=options.port, certificate=options.tls_cert, key=options.tls_key))


if __name__ == "__main__":
    main()
