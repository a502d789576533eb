"""What can be wrong with an installation; for a fake cluster and for a real one."""

from __future__ import annotations

from tests.inspect.call_ailments import OF_CALLS
from tests.inspect.other_ailments import OF_THE_REST

__all__ = ["AILMENTS"]

AILMENTS = [*OF_CALLS, *OF_THE_REST]
