"""A WSGI application of paths that take JSON and answer with JSON, and refuse all else in one line of plain text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from flask import Flask, Request, Response, request
from gunicorn.http.errors import ParseException
from werkzeug.exceptions import ClientDisconnected, HTTPException, RequestEntityTooLarge, UnsupportedMediaType
from werkzeug.routing import MapAdapter

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

__all__ = ["Answer", "json_app", "plain_text"]

# From the body of a request to that of the answer.
Answer = Callable[[bytes], bytes]


def json_app(name: str, answers: Mapping[str, Answer], *, max_body_bytes: int) -> Flask:
    """Return the application that answers a POST to each of the paths; what an answer raises is for its error handlers."""
    app = _JsonApp(name, static_folder=None)
    for path, answer in answers.items():
        app.add_url_rule(
            path,
            endpoint=path,
            view_func=_view(answer, max_body_bytes),
            methods=["POST"],
            provide_automatic_options=False,
        )
    app.register_error_handler(HTTPException, _refused)
    app.register_error_handler(ParseException, _unreadable)
    return app


class _JsonApp(Flask):
    """A Flask without what costs a tenth of a request and is of no use here: URLs built from Host, and coroutines."""

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """Bind the paths to the request alone; who is asked for is TLS's matter, and no URL is ever built."""
        if request is None:
            return None
        return self.url_map.bind("", path_info=request.path, default_method=request.method)

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function as it is, since none is a coroutine."""
        return func


def plain_text(status: int, text: str) -> Response:
    """Return an answer of one line."""
    return Response(f"{text}\n", status=status, mimetype="text/plain")


def _view(answer: Answer, max_body_bytes: int) -> Callable[[], Response]:
    def view() -> Response:
        environ = request.environ
        _check_representation(environ)
        return Response(answer(_body(environ, max_body_bytes)), content_type="application/json")

    return view


def _body(environ: WSGIEnvironment, most: int) -> bytes:
    # Werkzeug's own limit cuts a chunked body without a word.
    if int(environ.get("CONTENT_LENGTH") or 0) <= most:
        try:
            body: bytes = environ["wsgi.input"].read(most + 1)
        except OSError as error:
            raise ClientDisconnected from error
        if len(body) <= most:
            return body
    raise RequestEntityTooLarge(f"the body is longer than {most} bytes")


def _check_representation(environ: WSGIEnvironment) -> None:
    """Let through what is JSON as it stands. Parameters of the type are no matter: JSON is UTF-8 (RFC 8259)."""
    if environ.get("CONTENT_TYPE") != "application/json" and request.mimetype != "application/json":
        raise UnsupportedMediaType(f"Content-Type is {request.mimetype or 'not set'}; send application/json")
    coding = environ.get("HTTP_CONTENT_ENCODING", "")
    if coding.lower() not in ("", "identity"):
        raise _Encoded(f"Content-Encoding is {coding}; send the body as it is, without one")


class _Encoded(UnsupportedMediaType):
    """A body that would have to be decoded first; the answer says what is understood (RFC 9110 section 15.5.16)."""

    def get_headers(self, *args: Any, **kwargs: Any) -> list[tuple[str, str]]:
        """Return the headers of the answer."""
        return [*super().get_headers(*args, **kwargs), ("Accept-Encoding", "identity")]


def _unreadable(error: ParseException) -> Response:
    # gunicorn finds out what is wrong with a chunked body while we read it; it then closes the connection itself.
    return plain_text(400, f"the body can't be read: {error}")


def _refused(error: HTTPException) -> Response:
    answer = plain_text(error.code or 500, str(error.description))
    for name, value in error.get_headers():
        if name in ("Allow", "Accept-Encoding"):
            answer.headers[name] = value
    return answer
