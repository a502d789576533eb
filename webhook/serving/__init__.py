"""Any WSGI application over TLS in an embedded gunicorn, and the ops port beside it.

Knows nothing of admission or scheduling. `application.serve` is the way in; `service.Service` is what it serves.
"""
