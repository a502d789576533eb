"""Calls into plugins: what they raise or answer wrongly becomes one error that names them."""

from __future__ import annotations

import logging
import math
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from webhook.scheduling.nodes import Nodes
from webhook.scheduling.plugin import MAX_NODE_SCORE, Scores
from webhook.scheduling.status import SKIP, SUCCESS, Code, Reason, Status

__all__ = [
    "MAX_REASONS",
    "PluginError",
    "ask",
    "ask_status",
    "checked_bits",
    "checked_key",
    "checked_numbers",
    "checked_scores",
    "checked_status",
    "described",
    "faults",
    "first_refusal",
]

Args = ParamSpec("Args")
T = TypeVar("T")

_REJECTIONS = frozenset(code for code in Code if code.is_rejection)
_GO_OR_NOT = _REJECTIONS | {Code.SUCCESS}
_CODES: Mapping[str, frozenset[Code]] = {
    "pre_enqueue": _GO_OR_NOT,
    "pre_filter": _GO_OR_NOT | {Code.SKIP},
    "post_filter": _REJECTIONS,
    "pre_score": frozenset({Code.SUCCESS, Code.SKIP}),
    "reserve": _GO_OR_NOT,
    "permit": _GO_OR_NOT | {Code.WAIT},
    "pre_bind": _GO_OR_NOT,
    "bind": _GO_OR_NOT | {Code.SKIP},
}

MAX_REASONS = 64
"""As many as an answer has bits."""

log = logging.getLogger("custom_scheduler.scheduling")


def faults() -> tuple[type[BaseException], ...]:
    """Return what an `except` around code of others shall catch: all, a panic of Rust or a cancelled task too.

    Only Ctrl-C, which Python raises in the main thread alone, is meant for the process.
    """
    interrupted = isinstance(sys.exception(), KeyboardInterrupt)
    if interrupted and threading.current_thread() is threading.main_thread():
        return ()
    return (BaseException,)


def described(error: BaseException) -> str:
    """Return what kind of error it is and its text, if it has one that can be had."""
    kind = type(error).__name__
    try:
        return f"{kind}: {error}"
    except faults():
        return kind


class PluginError(Exception):
    """A plugin raised, or answered what it must not. The text names it and the extension point."""

    def __init__(self, plugin: str, point: str, fault: str) -> None:
        super().__init__(f"plugin {plugin} failed in {point}: {fault}")
        self.plugin = plugin

    @property
    def status(self) -> Status:
        """The same as an answer of the plugin's."""
        return Status(Code.ERROR, (str(self),), self.plugin)


def ask(plugin: str, point: str, method: Callable[Args, T], *args: Args.args, **kwargs: Args.kwargs) -> T:
    """Return the method's answer; raises PluginError for whatever it raised, which is logged with its traceback."""
    try:
        return method(*args, **kwargs)
    except faults() as error:
        log.exception("plugin %s raised in %s", plugin, point)
        raise PluginError(plugin, point, described(error)) from error


def ask_status(
    plugin: str, point: str, method: Callable[Args, Status], *args: Args.args, **kwargs: Args.kwargs
) -> Status:
    """Return the same for a method that answers with a Status; a fault becomes the code ERROR."""
    try:
        return checked_status(plugin, point, ask(plugin, point, method, *args, **kwargs))
    except PluginError as error:
        return error.status


def first_refusal(
    point: str, methods: Iterable[tuple[str, Callable[Args, Status]]], *args: Args.args, **kwargs: Args.kwargs
) -> Status:
    """Ask the plugins in turn until one doesn't answer Success, and return that answer."""
    for plugin, method in methods:
        status = ask_status(plugin, point, method, *args, **kwargs)
        if not status.is_success:
            return status
    return SUCCESS


def checked_status(plugin: str, point: str, answer: object) -> Status:
    """Return a status with a code that means something at this point, with its author's name; raises PluginError."""
    if not isinstance(answer, Status):
        raise PluginError(plugin, point, f"expected a Status, got a {type(answer).__name__}")
    if not isinstance(answer.code, Code):
        raise PluginError(plugin, point, f"code: expected a Code, got {answer.code!r}")
    if answer is SKIP and Code.SKIP in _CODES[point]:
        return SKIP
    if answer.is_success:
        return SUCCESS
    if not _are_all(answer.reasons, str):
        raise PluginError(plugin, point, f"reasons: expected a tuple of texts, got {answer.reasons!r}")
    if answer.code is Code.ERROR:
        raise PluginError(plugin, point, answer.message)
    if answer.code not in _CODES[point]:
        raise PluginError(plugin, point, f"the code {answer.code.name} means nothing here")
    # Without a node that fits, PostFilter plugins have nothing to reject.
    if answer.code.is_rejection and point != "post_filter" and not (answer.reasons and all(answer.reasons)):
        raise PluginError(plugin, point, f"the code {answer.code.name} needs a reason")
    if answer.code is Code.WAIT and not (_is_number(answer.timeout) and answer.timeout >= 0):
        raise PluginError(plugin, point, f"timeout: expected seconds to wait, got {answer.timeout!r}")
    return answer.by(plugin)


def checked_bits(plugin: str, answer: object, reasons: object, nodes: int) -> npt.NDArray[np.uint64] | None:
    """Return a filter's answer as one bit per reason, 0 where the node is feasible, or None if all are.

    Raises PluginError for another shape or type, or bits without a reason.
    """
    if not isinstance(answer, np.ndarray) or answer.shape != (nodes,) or answer.dtype.kind not in "biu":
        raise PluginError(plugin, "filter", f"expected {nodes} bools or integers, got {_shape_of(answer)}")
    if answer.dtype.kind == "b":
        if np.count_nonzero(answer) == nodes:
            return None
        reasons = _checked_reasons(plugin, reasons)
        if len(reasons) != 1:
            raise PluginError(
                plugin, "filter", f"a bool answer needs exactly one reason, there are {len(reasons)}"
            )
        return (~answer).astype(np.uint64)
    if not np.count_nonzero(answer):
        return None
    reasons = _checked_reasons(plugin, reasons)
    if int(answer.min()) < 0 or int(answer.max()) >> len(reasons):
        raise PluginError(plugin, "filter", f"bits are set beyond its {len(reasons)} reasons")
    return answer.astype(np.uint64)


def checked_key(plugin: str, answer: object) -> tuple[float, ...]:
    """Return a sort key that can be compared with any other; raises PluginError."""
    if isinstance(answer, tuple) and all(map(_is_number, answer)):
        return answer
    raise PluginError(plugin, "sort_key", f"expected a tuple of numbers, got {answer!r}")


def checked_numbers(plugin: str, point: str, answer: object, nodes: Nodes) -> Scores:
    """Return one number per node, as int64 or float64, in which weighted sums have room; raises PluginError."""
    if not isinstance(answer, np.ndarray) or answer.shape != (len(nodes),) or answer.dtype.kind not in "iuf":
        raise PluginError(plugin, point, f"expected {len(nodes)} numbers, got {_shape_of(answer)}")
    if answer.dtype in {np.int64, np.float64}:
        return answer
    return answer.astype(np.float64 if answer.dtype.kind == "f" else np.int64)


def checked_scores(plugin: str, point: str, answer: object, nodes: Nodes) -> Scores:
    """Return one number between 0 and MAX_NODE_SCORE per node; raises PluginError, which names the first node without."""
    scores = checked_numbers(plugin, point, answer, nodes)
    # Read as unsigned, what is negative is far above: one look in place of two.
    if scores.dtype == np.int64 and scores.view(np.uint64).max() <= MAX_NODE_SCORE:
        return scores
    # Put so that NaN, which is in no order with anything, fails too.
    if not (scores.min() >= 0 and scores.max() <= MAX_NODE_SCORE):
        first = int(np.argmin((scores >= 0) & (scores <= MAX_NODE_SCORE)))
        raise PluginError(
            plugin,
            point,
            f"score {scores[first]} of node {nodes[first].name} is not between 0 and {MAX_NODE_SCORE}",
        )
    return scores


def _checked_reasons(plugin: str, reasons: object) -> tuple[Reason, ...]:
    if not isinstance(reasons, tuple) or not all(map(_is_reason, reasons)):
        raise PluginError(
            plugin, "filter", f"reasons: expected a tuple of Reason, each with code and text, got {reasons!r}"
        )
    if len(reasons) > MAX_REASONS:
        raise PluginError(plugin, "filter", f"reasons: expected at most {MAX_REASONS}, got {len(reasons)}")
    return reasons


def _is_reason(value: object) -> bool:
    return isinstance(value, Reason) and _is_rejection(value.code) and _is_text(value.text)


def _is_rejection(value: object) -> bool:
    return isinstance(value, Code) and value.is_rejection


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not math.isnan(value)


def _are_all(values: object, type_: type) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, type_) for value in values)


def _shape_of(answer: object) -> str:
    if isinstance(answer, np.ndarray):
        return f"an array of {answer.dtype} with shape {answer.shape}"
    return f"a {type(answer).__name__}"
