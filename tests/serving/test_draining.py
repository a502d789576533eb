from __future__ import annotations

import os

from webhook.serving.draining import Draining


def test_a_process_forked_before_sees_it_set() -> None:
    draining = Draining()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(read, 1)
        os._exit(0 if draining.is_set() else 1)

    assert not draining.is_set()
    draining.set()
    os.write(write, b"!")
    _, status = os.waitpid(child, 0)
    os.close(read)
    os.close(write)

    assert os.waitstatus_to_exitcode(status) == 0
