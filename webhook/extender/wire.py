"""kube-scheduler's extender protocol in bytes. Source: k8s.io/kube-scheduler/extender/v1/types.go.

The Go types have no JSON tags, so keys are written as the fields are, and read in any case. A request has the nodes
either as objects or, with `nodeCacheCapable`, as names; the answer has to have them in the same way.

Names come and go as JSON, thousands at a time, so that each is encoded once and not with every answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from webhook.kube.meta import ObjectMeta
from webhook.scheduling.objects import Pod

__all__ = [
    "ExtenderArgs",
    "MalformedArgs",
    "Quoted",
    "decode_args",
    "encode_error",
    "encode_filter_result",
    "encode_nodes",
    "encode_priorities",
]

# Names of nodes as JSON strings, by what is said of them.
Quoted = Iterable[bytes]

_NULL = b"null"


class MalformedArgs(ValueError):
    """The body is no ExtenderArgs."""


class _Bare(msgspec.Struct):
    metadata: ObjectMeta


class _NodeList(msgspec.Struct):
    items: tuple[msgspec.Raw, ...] | None = None


_args = msgspec.json.Decoder(dict[str, msgspec.Raw])
_pod = msgspec.json.Decoder(Pod)
_nodes = msgspec.json.Decoder(_NodeList)
_bare = msgspec.json.Decoder(_Bare)


@dataclass(frozen=True, slots=True)
class ExtenderArgs:
    """A pod, and the names of the nodes in question as a JSON list.

    `objects` are these nodes as they were sent, by their names as JSON; None where only names were.
    """

    pod: Pod
    names: bytes
    objects: Mapping[bytes, bytes] | None = None


def decode_args(body: bytes) -> ExtenderArgs:
    """Return what a request asks about; raises MalformedArgs. That the names are a list of names is found out later."""
    try:
        fields = {key.lower(): bytes(value) for key, value in _args.decode(body).items()}
        pod = _pod.decode(fields["pod"])
        if (names := fields.get("nodenames", _NULL)) != _NULL:
            return ExtenderArgs(pod, names)
        if (nodes := fields.get("nodes", _NULL)) != _NULL:
            items = _nodes.decode(nodes).items or ()
            objects = {msgspec.json.encode(_bare.decode(item).metadata.name): bytes(item) for item in items}
            return ExtenderArgs(pod, b"[" + b",".join(objects) + b"]", objects)
    except KeyError as error:
        raise MalformedArgs(f"has no {error}; expected Pod, and NodeNames or Nodes") from None
    except msgspec.DecodeError as error:
        raise MalformedArgs(str(error)) from error
    except RecursionError:
        raise MalformedArgs("is nested too deeply") from None
    raise MalformedArgs("has neither NodeNames nor Nodes; expected one of them")


def encode_nodes(objects: Mapping[bytes, bytes], names: Quoted) -> bytes:
    """Return a NodeList of the objects with these names, as they were sent."""
    items = b",".join(objects[name] for name in names)
    return b'{"kind":"NodeList","apiVersion":"v1","items":[' + items + b"]}"


def encode_filter_result(
    *,
    names: bytes = _NULL,
    nodes: bytes = _NULL,
    failed: Mapping[str, Quoted],
    unresolvable: Mapping[str, Quoted],
) -> bytes:
    """Return an ExtenderFilterResult: the nodes that can run the pod, by name or whole, and of the others the reason.

    No preemption is tried on the `unresolvable`.
    """
    return b"".join(
        (
            b'{"Nodes":%b,"NodeNames":%b' % (nodes, names),
            b',"FailedNodes":',
            _by_name(failed),
            b',"FailedAndUnresolvableNodes":',
            _by_name(unresolvable),
            b',"Error":""}',
        )
    )


def encode_error(message: str) -> bytes:
    """Return an ExtenderFilterResult that says what went wrong; an `ignorable` extender is left out then."""
    return msgspec.json.encode({"Nodes": None, "NodeNames": None, "FailedNodes": None, "Error": message})


def encode_priorities(names: Mapping[int, Quoted]) -> bytes:
    """Return a HostPriorityList of the names by their scores; its order means nothing."""
    groups = []
    for score, quoted in names.items():
        between = b',"Score":%d},{"Host":' % score
        if hosts := between.join(quoted):
            groups.append(b'{"Host":%b,"Score":%d}' % (hosts, score))
    return b"[" + b",".join(groups) + b"]"


def _by_name(reasons: Mapping[str, Quoted]) -> bytes:
    """Return an object that has each name's reason."""
    groups = []
    for reason, names in reasons.items():
        value = b":" + msgspec.json.encode(reason)
        groups.append((value + b",").join(names) + value)
    return b"{" + b",".join(groups) + b"}"
