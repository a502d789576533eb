"""The table: every case runs in process, over TLS, through the webhooks on an API server, and as CEL in one.

What is denied and warned of is told in the table by its beginning, and must be the same text everywhere.
"""

from __future__ import annotations

from tests.cases.under_default_labels import LABELS, WORKLOADS
from tests.cases.under_default_steering import STEERING
from tests.cases.under_others import UNDER_LAX, UNDER_OVERRIDE
from tests.cases.under_strict import UNDER_STRICT

CASES = [*LABELS, *WORKLOADS, *STEERING, *UNDER_STRICT, *UNDER_OVERRIDE, *UNDER_LAX]
