from __future__ import annotations

import os
import threading

import pytest

from webhook.documents import MAX_BYTES
from webhook.policy import handover as module
from webhook.policy.handover import Handover


def test_nothing_was_put_at_first() -> None:
    assert Handover().get() is None


@pytest.mark.parametrize("content", [b"", b"a policy", b"x" * MAX_BYTES], ids=["empty", "short", "longest"])
def test_what_was_put_last_is_had(content: bytes) -> None:
    handover = Handover()

    handover.put(b"before, and longer")
    handover.put(content)

    assert handover.get() == content


def test_what_one_process_puts_another_has() -> None:
    handover = Handover()
    for content in (b"one", b"two", b"three"):
        child = os.fork()
        if child == 0:
            handover.put(content)
            os._exit(0)
        os.waitpid(child, 0)

        assert handover.get() == content


@pytest.mark.parametrize("written", [1, 40, 46])
def test_what_was_half_put_counts_for_nothing(written: int) -> None:
    handover = Handover()
    for content in (b"one", b"two", b"three"):
        handover.put(content)
    newest = max(handover._slots, key=lambda slot: slot[32:40])
    newest[:written] = bytes(written)

    assert handover.get() == b"two"
    handover.put(b"four")
    assert handover.get() == b"four"


def test_a_length_beyond_the_end_is_no_fault() -> None:
    handover = Handover()
    handover.put(b"one")
    for slot in handover._slots:
        slot[: module._HEAD.size] = b"\xff" * module._HEAD.size

    assert handover.get() is None


def test_several_may_put_at_once() -> None:
    handover = Handover()
    contents = [bytes([letter]) * 1000 for letter in range(8)]
    threads = [threading.Thread(target=handover.put, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    handover.put(b"last")

    assert handover.get() == b"last"
