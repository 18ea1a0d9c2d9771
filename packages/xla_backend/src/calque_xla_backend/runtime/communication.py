"""The communication of a compiled program: its collectives, counted.

One idea: XLA decides which collectives a program has, so they are counted in its optimised text, where each is one
operation on the data of one device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

_KINDS = (
    "all-gather", "all-reduce", "all-to-all", "collective-broadcast", "collective-permute", "ragged-all-to-all",
    "reduce-scatter",
)  # fmt: skip
_OPERATION = re.compile(
    rf"\s*(?:ROOT )?\S+ = (?P<result>\(.*?\)|\S+) (?P<kind>{'|'.join(_KINDS)})(?P<start>-start)?\((?P<arguments>.*)"
)
_ARRAY = re.compile(r"\b(?P<dtype>pred|[a-z]+(?P<bits>\d+)\w*)\[(?P<shape>[\d,]*)\]")
_GROUPS = re.compile(
    r"replica_groups=(?:\{\{(?P<first>[\d,]+)\}|\[\d+,(?P<size>\d+)\]|mesh\[(?P<mesh>[^]]*)\] ?\{(?P<along>[^}]*)\})"
)
_AXIS = re.compile(
    r"'(?P<name>[^']*)'(?:=|:\(\d+\))?(?P<size>\d+)?"
)  # 'i'=4 of a mesh; 'i', or 'i':(2)2 for a part of it


@dataclass(frozen=True, slots=True)
class Traffic:
    """The number of collectives of one kind in a program, and the bytes of their data on one device."""

    count: int
    bytes: int


def communication_of(text: str) -> dict[str, Traffic]:
    """Return the communication of an optimised program, by kind of collective, from its text.

    >>> text = "  %r = f32[2,4]{1,0} all-reduce(%x), channel_id=1, replica_groups={{0,2},{1,3}}, to_apply=%add"
    >>> communication_of(text)
    {'all-reduce': Traffic(count=1, bytes=32)}
    """
    totals: dict[str, Traffic] = {}
    for kind, size in _collectives(text):
        before = totals.get(kind, Traffic(0, 0))
        totals[kind] = Traffic(before.count + 1, before.bytes + size)
    return dict(sorted(totals.items()))


def _collectives(text: str) -> Iterator[tuple[str, int]]:
    """Yield the kind of each collective, and the bytes of its operand or of its result, the larger of both."""
    for line in text.splitlines():
        match = _OPERATION.match(line)
        if match:
            sizes = [_bytes(array) for array in _ARRAY.finditer(match["result"])]
            kind = match["kind"]
            if match["start"] and kind != "all-reduce":  # the start of such a collective gives operands and results
                sizes = sizes[len(sizes) // 2 :] if kind == "all-gather" else sizes[1:2]
            yield kind, sum(sizes) * (_group_size(match["arguments"]) if kind == "reduce-scatter" else 1)


def _bytes(array: re.Match[str]) -> int:
    """Return the size of an array, in whole bytes: 'f32[2,4]' has 32."""
    bits = 8 if array["dtype"] == "pred" else int(array["bits"])
    return (prod(map(int, filter(None, array["shape"].split(",")))) * bits + 7) // 8


def _group_size(arguments: str) -> int:
    """Return the number of devices in a group of a collective."""
    match = _GROUPS.search(arguments)
    assert match is not None, arguments
    if match["first"]:
        return match["first"].count(",") + 1
    if match["size"]:
        return int(match["size"])
    sizes = {axis["name"]: axis["size"] for axis in _AXIS.finditer(match["mesh"])}
    return prod(int(axis["size"] or sizes[axis["name"]]) for axis in _AXIS.finditer(match["along"]))
