"""What a client is told whose request can't be taken: one line of plain text, in place of gunicorn's page of HTML."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from gunicorn.http import errors

__all__ = ["FAULT_OF_OURS", "Refusal"]

# What a client sent is quoted, and may be as long as a whole head.
_LONGEST_TEXT = 200

_STATUS: dict[type[Exception], HTTPStatus] = {
    errors.LimitRequestLine: HTTPStatus.REQUEST_URI_TOO_LONG,
    errors.LimitRequestHeaders: HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    errors.ExpectationFailed: HTTPStatus.EXPECTATION_FAILED,
    errors.UnsupportedTransferCoding: HTTPStatus.NOT_IMPLEMENTED,
}


class Refusal(msgspec.Struct, frozen=True):
    """An answer from below the application, after which the connection ends."""

    status: HTTPStatus
    text: str

    @classmethod
    def of(cls, error: errors.ParseException) -> Refusal:
        """Return what to answer where gunicorn finds this wrong with a request."""
        text = str(error)
        if len(text) > _LONGEST_TEXT:
            text = f"{text[:_LONGEST_TEXT]}..."
        return cls(_STATUS.get(type(error), HTTPStatus.BAD_REQUEST), text)

    def encoded(self) -> bytes:
        """Return the whole answer."""
        body = f"{self.text}\n".encode("ascii", "backslashreplace")
        head = (
            f"HTTP/1.1 {self.status.value} {self.status.phrase}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + body


FAULT_OF_OURS = Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "a fault of ours: see the log")
