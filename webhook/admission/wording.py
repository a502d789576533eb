"""Phrases that several denials share."""

from __future__ import annotations

import json

from webhook.admission.review import Review
from webhook.policy import wording

__all__ = ["manifest", "shown"]

_SHOWN_LENGTH = 63  # a label's longest value; what is longer is no value and only has to be recognized


def shown(value: str) -> str:
    """Return a value from the request in quotes, escaped, and cut where it is too long to be one."""
    if len(value) > _SHOWN_LENGTH:
        value = f"{value[:_SHOWN_LENGTH]}…"
    return json.dumps(value, ensure_ascii=False)


def manifest(review: Review) -> str:
    """Return where the developer changes the pod under review: its manifest, or the template it was made from."""
    if owner := review.subject.controller:
        return wording.TEMPLATE_BEHIND.format(kind=owner.kind, name=owner.name)
    return wording.OWN_MANIFEST
