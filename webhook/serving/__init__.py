"""Any WSGI application over TLS in an embedded gunicorn, and the ops port beside it.

Knows nothing of admission or scheduling. Each private name of gunicorn that is relied on is named at the top
of the module that uses it; tests/serving shows each of gunicorn's defects that is mended here on gunicorn's
own worker as well, so that a release of gunicorn that mends one is noticed.
"""

from __future__ import annotations

from webhook.serving.application import serve
from webhook.serving.draining import Draining
from webhook.serving.ops import OpsServer
from webhook.serving.options import ServingOptions
from webhook.serving.service import Service
from webhook.serving.sockets import listen

__all__ = ["Draining", "OpsServer", "Service", "ServingOptions", "listen", "serve"]
