"""Log lines: one JSON object a line for machines, plain text for people."""

from __future__ import annotations

import datetime as dt
import json
import logging
import sys
from typing import IO, Literal

import msgspec

__all__ = ["LogFormat", "configure_logging"]

LogFormat = Literal["json", "text"]

_PLAIN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_encoder = msgspec.json.Encoder(enc_hook=str)


def configure_logging(
    log_format: LogFormat, *, level: int = logging.INFO, stream: IO[str] | None = None
) -> None:
    """Send every log record of this process to `stream` (standard error), a line each, in `log_format`."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("custom_scheduler").setLevel(level)


def _encode(value: object) -> str:
    try:
        return _encoder.encode(value).decode()
    except UnicodeEncodeError:
        # The path of a file whose name is not UTF-8, for instance: PEP 383 spells such bytes as half surrogate pairs.
        return json.dumps(value, default=str)


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in vars(record).items() if key not in _PLAIN_ATTRIBUTES}


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
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _encode(line)


class TextFormatter(logging.Formatter):
    """Formats a record for a terminal: time, level, message, then the fields as key=value."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line; a traceback follows on lines of its own."""
        # A value comes from a request: quoted, it can't forge a second log line.
        fields = "".join(f" {key}={_encode(value)}" for key, value in _fields(record).items())
        message = record.getMessage().replace("\n", "\\n")
        line = f"{_timestamp(record)} {record.levelname:<7} {message}{fields}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line
