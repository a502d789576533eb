"""Log lines: one JSON object a line for machines, plain text for people."""

from __future__ import annotations

import datetime as dt
import json
import logging
import sys
from typing import IO, Literal

import msgspec

__all__ = ["LogFormat", "LogLevel", "configure_logging"]

LogFormat = Literal["json", "text"]
LogLevel = Literal["debug", "info", "warning", "error"]

# The certificate library logs under its own name.
_OURS = ("custom_scheduler", "certs")

# A request may be of 8 MiB, most of it one name.
_LONGEST_FIELD = 1024
_LONGEST_MESSAGE = 4096

_PLAIN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_encoder = msgspec.json.Encoder(enc_hook=str)


def configure_logging(
    log_format: LogFormat, *, level: LogLevel = "info", stream: IO[str] | None = None
) -> None:
    """Send every log record of this process to `stream` (standard error), a line each, in `log_format`.

    Ours from `level` on, those of other libraries from warning on.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in _OURS:
        logging.getLogger(name).setLevel(level.upper())


def _encode(value: object) -> str:
    """Return a value as JSON that can neither end a line nor move or turn what a terminal shows."""
    try:
        return _escape(_encoder.encode(value).decode())
    except UnicodeEncodeError:
        # The path of a file whose name is not UTF-8, for instance: PEP 383 spells such bytes as half surrogate pairs.
        return json.dumps(value, default=str)


def _escape(text: str) -> str:
    """Return the text with what is no printable character (controls, marks of direction) escaped as JSON does."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text) - longest} more)"


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """Return what was given as `extra`; `name_` is the field `name`, since logging keeps that name for itself."""
    return {
        key.rstrip("_"): _cut(value, _LONGEST_FIELD) if isinstance(value, str) else value
        for key, value in vars(record).items()
        if key not in _PLAIN_ATTRIBUTES
    }


def _message(record: logging.LogRecord) -> str:
    return _cut(record.getMessage(), _LONGEST_MESSAGE)


def _timestamp(record: logging.LogRecord) -> str:
    moment = dt.datetime.fromtimestamp(record.created, tz=dt.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object: time, level, logger, message, then the fields given as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line of JSON; a traceback goes into `exception`, escaped."""
        line: dict[str, object] = {
            "time": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
            **_fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _encode(line)


class TextFormatter(logging.Formatter):
    """Formats a record for a terminal: time, level, message, then the fields as key=value."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line; a traceback follows on lines of its own, which begin with a blank."""
        # A value comes from a request: quoted, it can't forge a second log line.
        fields = "".join(f" {key}={_encode(value)}" for key, value in _fields(record).items())
        line = f"{_timestamp(record)} {record.levelname:<7} {_escape(_message(record))}{fields}"
        if not record.exc_info:
            return line
        return "\n    ".join([line, *map(_escape, self.formatException(record.exc_info).split("\n"))])
