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
    product = logging.getLogger("custom_scheduler")
    handlers, level, product_level = root.handlers[:], root.level, product.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    product.setLevel(product_level)


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


@pytest.mark.parametrize("log_format", ["json", "text"])
@pytest.mark.usefixtures("_restored_logging")
def test_a_value_from_a_request_cannot_forge_a_second_line(log_format: LogFormat) -> None:
    stream = io.StringIO()
    configure_logging(log_format, stream=stream)

    log.info("denied %s", "x\nforged", extra={"user": "eve\nERROR all is lost"})

    assert len(stream.getvalue().splitlines()) == 1


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
