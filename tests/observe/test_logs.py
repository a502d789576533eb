from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from webhook.observe.logs import LogFormat, configure_logging


@pytest.fixture
def _restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers = root.handlers[:]
    levels = {
        logger: logger.level for logger in (root, *map(logging.getLogger, ("custom_scheduler", "certs")))
    }
    yield
    root.handlers[:] = handlers
    for logger, level in levels.items():
        logger.setLevel(level)


log = logging.getLogger("custom_scheduler.test")


@pytest.mark.usefixtures("_restored_logging")
def test_a_json_line_holds_the_message_and_the_extra_fields() -> None:
    stream = io.StringIO()
    configure_logging("json", stream=stream)

    log.info("denied", extra={"namespace": "team-a", "uid": "u1"})

    line = json.loads(stream.getvalue())
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info",
        "logger": "custom_scheduler.test",
        "message": "denied",
        "namespace": "team-a",
        "uid": "u1",
    }


@pytest.mark.usefixtures("_restored_logging")
def test_a_traceback_stays_inside_its_json_line() -> None:
    stream = io.StringIO()
    configure_logging("json", stream=stream)

    try:
        raise ValueError("boom")
    except ValueError:
        log.exception("failed")

    lines = stream.getvalue().splitlines()
    assert len(lines) == 1
    assert "ValueError: boom" in json.loads(lines[0])["exception"]


# Line feed, carriage return, vertical tab, next line, line separator; escape, and its one-byte kin, CSI; mark of
# direction, its isolate; a tag, as it is beyond 16 bits.
TRICKS = "\n\r\x0b\x85\u2028\x1b[31m\x9b31m\u202e\u2066\U000e0041"


@pytest.mark.parametrize("log_format", ["json", "text"])
@pytest.mark.usefixtures("_restored_logging")
def test_a_value_from_a_request_can_not_forge_a_line_or_turn_what_is_shown(log_format: LogFormat) -> None:
    stream = io.StringIO()
    configure_logging(log_format, stream=stream)

    log.info("denied %s", f"x{TRICKS}", extra={"user": f"eve{TRICKS}", "hosts": [f"h{TRICKS}"]})

    assert stream.getvalue().endswith("\n")
    assert stream.getvalue()[:-1].isprintable()


@pytest.mark.usefixtures("_restored_logging")
def test_what_was_escaped_in_json_can_be_read_back() -> None:
    stream = io.StringIO()
    configure_logging("json", stream=stream)

    log.info("denied %s", TRICKS, extra={"user": TRICKS})

    line = json.loads(stream.getvalue())
    assert (line["message"], line["user"]) == (f"denied {TRICKS}", TRICKS)


@pytest.mark.usefixtures("_restored_logging")
def test_an_errors_text_can_not_forge_a_line_in_a_traceback() -> None:
    stream = io.StringIO()
    configure_logging("text", stream=stream)

    try:
        raise ValueError("boom\n2026-01-01T00:00:00.000Z INFO    all is well\x1b[31m")
    except ValueError:
        log.exception("failed")

    first, *others = stream.getvalue().splitlines()
    assert first.endswith("failed")
    assert all(line.startswith("    ") and line.isprintable() for line in others)


@pytest.mark.parametrize("log_format", ["json", "text"])
@pytest.mark.usefixtures("_restored_logging")
def test_a_line_has_a_bound_however_long_a_name_is(log_format: LogFormat) -> None:
    stream = io.StringIO()
    configure_logging(log_format, stream=stream)

    log.info("denied: %s", "m" * 1_000_000, extra={"user": "u" * 1_000_000, "name_": "\x00" * 1_000_000})

    line = stream.getvalue()
    assert len(line) < 20_000
    assert "… (998976 more)" in line


@pytest.mark.usefixtures("_restored_logging")
def test_a_name_that_logging_keeps_for_itself_can_be_a_field() -> None:
    stream = io.StringIO()
    configure_logging("json", stream=stream)

    log.info("denied", extra={"name_": "web-0"})

    assert json.loads(stream.getvalue())["name"] == "web-0"


@pytest.mark.parametrize("logger", ["custom_scheduler.binder", "certs"])
@pytest.mark.usefixtures("_restored_logging")
def test_ours_are_heard_from_the_level_that_was_asked_for(logger: str) -> None:
    stream = io.StringIO()
    configure_logging("json", level="debug", stream=stream)
    logging.getLogger(logger).debug("a detail")
    configure_logging("json", level="warning", stream=stream)
    logging.getLogger(logger).info("news")

    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == ["a detail"]


@pytest.mark.usefixtures("_restored_logging")
def test_a_field_that_is_no_json_type_is_written_as_its_text() -> None:
    stream = io.StringIO()
    configure_logging("json", stream=stream)

    log.info("reloaded", extra={"reason": ValueError("bad")})

    assert json.loads(stream.getvalue())["reason"] == "bad"


@pytest.mark.usefixtures("_restored_logging")
def test_other_libraries_are_heard_from_warning_up() -> None:
    stream = io.StringIO()
    configure_logging("json", stream=stream)

    logging.getLogger("urllib3").info("chatter")
    logging.getLogger("urllib3").warning("trouble")

    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == ["trouble"]


@pytest.mark.usefixtures("_restored_logging")
def test_a_name_that_is_not_utf8_is_still_one_json_line() -> None:
    stream = io.StringIO()
    configure_logging("json", stream=stream)

    log.info("read %s", "caf\udce9", extra={"file": "caf\udce9"})

    line = json.loads(stream.getvalue())
    assert (line["message"], line["file"]) == ("read caf\udce9", "caf\udce9")


@pytest.mark.usefixtures("_restored_logging")
def test_a_name_that_is_not_utf8_is_escaped_in_text_as_well() -> None:
    stream = io.StringIO()
    configure_logging("text", stream=stream)

    log.info("read", extra={"file": "caf\udce9"})

    assert stream.getvalue().endswith('read file="caf\\udce9"\n')
