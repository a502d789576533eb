from __future__ import annotations

import pytest

from tests.serving.conftest import DEFAULT
from webhook.serving.config import Config


def test_a_setting_can_be_changed_after_it_was_read() -> None:
    config = Config(DEFAULT)
    before = config.graceful_timeout

    config.set("graceful_timeout", before + 1)

    assert config.graceful_timeout == before + 1


def test_a_setting_that_gunicorn_does_not_have_is_an_error() -> None:
    with pytest.raises(AttributeError, match="taste"):
        _ = Config(DEFAULT).taste
