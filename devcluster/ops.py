"""What a program of ours says on its ops port."""

from __future__ import annotations

import urllib3

__all__ = ["ask_ops"]


def ask_ops(port: int, path: str) -> tuple[int, str]:
    """Return the status and the body that `port` gives for `path`; status 0 where nobody answers."""
    try:
        answer = urllib3.request("GET", f"http://127.0.0.1:{port}{path}", retries=False, timeout=5)
    except urllib3.exceptions.HTTPError as error:
        return 0, str(error)
    return answer.status, answer.data.decode()
