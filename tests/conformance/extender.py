"""An extender of kube-scheduler that takes notes, chooses the node, and binds nothing.

Source: k8s.io/kube-scheduler/extender/v1 and pkg/scheduler/extender.go.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.conformance.model import Json, key_of
from tests.conformance.notes import Notes
from tests.conformance.profiles import PROBE

__all__ = ["Choose", "Extender"]

# From a pod's key and its feasible nodes to where it goes.
Choose = Callable[[str, Sequence[str]], str]

# kube-scheduler takes an extender's scores times 10. All plugins together give less than this.
_FAR_ABOVE = 1000
_SCALE = 10


class Extender:
    """Answers on a port of 127.0.0.1, a thread for each connection."""

    def __init__(self, notes: Notes, choose: Choose) -> None:
        self._notes = notes
        self._choose = choose
        # While it is clear, bindings wait.
        self._released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, name="extender", daemon=True)

    def start(self) -> str:
        """Begin to answer, and return the URL prefix."""
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def hold(self) -> None:
        """Answer no binding from now on, so that the pods stay assumed where they were put."""
        self._released.clear()

    def release(self) -> None:
        """Fail the bindings that are held, and those to come."""
        self._released.set()

    def close(self) -> None:
        """Stop; kube-scheduler must have ended, so that no connection is left."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def filter(self, args: Json) -> Json:
        """Let all nodes pass. A probe ends here: it must not be assumed anywhere."""
        names = args["NodeNames"]
        self._notes.feasible(key_of(args["Pod"]), names)
        if args["Pod"]["spec"]["schedulerName"] == PROBE:
            return {"Error": "seen"}
        return {"NodeNames": names}

    def prioritize(self, args: Json) -> list[Json]:
        """Give one node a score that decides."""
        pod = key_of(args["Pod"])
        choice = self._choose(pod, args["NodeNames"])
        self._notes.given(pod, {choice: _FAR_ABOVE * _SCALE})
        return [{"Host": choice, "Score": _FAR_ABOVE}]

    def bind(self, args: Json) -> Json:
        """Hold the binding until the pods are released."""
        self._notes.choice(f"{args['PodNamespace']}/{args['PodName']}", args["Node"])
        self._released.wait()
        return {"Error": "only noted"}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        verbs: dict[str, Callable[[Json], Any]] = {
            "/filter": self.filter,
            "/prioritize": self.prioritize,
            "/bind": self.bind,
        }

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def handle(self) -> None:
                # kube-scheduler ends with its connections open.
                with suppress(ConnectionResetError):
                    super().handle()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = json.dumps(verbs[self.path](json.loads(body))).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as the base class calls it)
                pass

        return Handler
