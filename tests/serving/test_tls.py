from __future__ import annotations

import ssl
import threading

from webhook.serving.tls import HttpContexts


class CountingContext(ssl.SSLContext):
    times_set_up = 0

    def set_alpn_protocols(self, protocols: object) -> None:
        self.times_set_up += 1


def bare() -> CountingContext:
    return CountingContext(ssl.PROTOCOL_TLS_SERVER)


def test_a_context_is_set_up_once_however_many_connections_ask() -> None:
    contexts = HttpContexts()
    context = bare()

    threads = [threading.Thread(target=contexts.prepared, args=(context,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert context.times_set_up == 1


def test_a_swap_that_is_undone_changes_nothing() -> None:
    contexts = HttpContexts()
    first, second = bare(), bare()

    returned = [contexts.prepared(context) for context in (first, second, first, second)]

    assert returned == [first, second, first, second]
    assert (first.times_set_up, second.times_set_up) == (1, 1)
