"""A WSGI application of paths that take JSON and answer with JSON, and refuse all else in one line of plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from flask import Flask, Response, request
from gunicorn.http.errors import ParseException
from werkzeug.exceptions import ClientDisconnected, HTTPException, RequestEntityTooLarge, UnsupportedMediaType
from werkzeug.wsgi import ClosingIterator

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

__all__ = ["Answer", "Reply", "json_app", "plain_text"]

_JSON = "application/json"


class Reply(NamedTuple):
    """The body of an answer, and what is to be done once the client has it."""

    body: bytes
    afterwards: Callable[[], None] | None = None


Answer = Callable[[bytes], Reply]
"""From the body of a request to the reply."""


def json_app(name: str, answers: Mapping[str, Answer], *, max_body_bytes: int) -> Flask:
    """Return the application that answers a POST to each of the paths; what an answer raises is for its error handlers."""
    app = _JsonApp(name, answers, max_body_bytes)
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
    """A Flask that answers what comes as it should before it makes a request of it, which takes 50 µs of 130.

    All that is out of the ordinary goes Flask's way: other paths, methods and representations, and what an answer
    raises.
    """

    def __init__(self, name: str, answers: Mapping[str, Answer], max_body_bytes: int) -> None:
        super().__init__(name, static_folder=None)
        self._answers = answers
        self._max_body_bytes = max_body_bytes

    def wsgi_app(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        answer = self._answers.get(environ["PATH_INFO"])
        if answer is None or not _is_ordinary(environ):
            return super().wsgi_app(environ, start_response)
        try:
            reply = answer(_body(environ, self._max_body_bytes))
        except Exception as error:  # noqa: BLE001 (Flask's handlers decide, as if a view had raised it)
            return self._response_to(error, environ)(environ, start_response)
        start_response("200 OK", [("Content-Type", _JSON), ("Content-Length", str(len(reply.body)))])
        pieces = [reply.body]
        return pieces if reply.afterwards is None else ClosingIterator(pieces, reply.afterwards)

    def _response_to(self, error: Exception, environ: WSGIEnvironment) -> Response:
        with self.request_context(environ):
            try:
                return self.make_response(self.handle_user_exception(error))
            except Exception as unhandled:  # noqa: BLE001 (as above)
                return self.handle_exception(unhandled)


def _is_ordinary(environ: WSGIEnvironment) -> bool:
    """Tell whether a request is one of those that API servers and schedulers send."""
    return (
        environ["REQUEST_METHOD"] == "POST"
        and environ.get("CONTENT_TYPE") == _JSON
        and "HTTP_CONTENT_ENCODING" not in environ
    )


def plain_text(status: int, text: str) -> Response:
    """Return an answer of one line."""
    return Response(f"{text}\n", status=status, mimetype="text/plain")


def _view(answer: Answer, max_body_bytes: int) -> Callable[[], Response]:
    def view() -> Response:
        environ = request.environ
        _check_representation(environ)
        reply = answer(_body(environ, max_body_bytes))
        response = Response(reply.body, content_type=_JSON)
        if reply.afterwards is not None:
            response.call_on_close(reply.afterwards)
        return response

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
    if request.mimetype != _JSON:
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
