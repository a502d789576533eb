"""Bringing raw scores into range. Source: pkg/scheduler/framework/plugins/helper/normalize_score.go."""

from __future__ import annotations

import numpy as np

from webhook.scheduling.plugin import MAX_NODE_SCORE, Scores

__all__ = ["relative_to_highest"]


def relative_to_highest(scores: Scores, *, reverse: bool = False) -> Scores:
    """Scale whole, non-negative scores so that the highest becomes MAX_NODE_SCORE, or 0 if reversed."""
    highest = scores.max(initial=0)
    if not highest:
        return np.full_like(scores, MAX_NODE_SCORE if reverse else 0)
    scaled: Scores = MAX_NODE_SCORE * scores // highest
    return MAX_NODE_SCORE - scaled if reverse else scaled
