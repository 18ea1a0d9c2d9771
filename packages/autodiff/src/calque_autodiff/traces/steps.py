"""Steps of a linear program: operations whose derivative is straight-line code.

One idea: the rules of an operation give the same equations whenever its operands have the same types.  So the equations
are made once per types, and run as two Python functions: one computes the result and the residuals, one takes a
cotangent back to the operands.

Read next: `operations.py` of this package, which makes these functions from the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from calque_core import Jaxpr, ShapedArray, Var, typeof

Value = Any


class Pull(NamedTuple):
    """The way back through an operation for one pattern of cotangents: a function of them, then of residuals.

    It returns a cotangent for each operand in the mask `nonzero`, of those with a tangent.  `program`, of the
    residuals, then the cotangents, returns the same; there is no function if its operations cannot run without rules.
    """

    function: Callable[..., tuple[Value, ...]] | None
    program: Jaxpr
    nonzero: Sequence[bool]


@dataclass(frozen=True, eq=False, slots=True)
class LinearizedOperation:
    """A primitive on operands of known types, some of which have tangents.

    `run(*primals)` returns the result, or a list of results, and a tuple of residuals.  `linear` is the derivative as a
    program of the residuals, then the tangents.  `pull` is the way back from a single result; for several results
    `pull_for` gives it, from the mask of the nonzero tangents that have a cotangent.  `out_avals` are the types of the
    results, `dot_avals` those of their tangents, None for a tangent that is zero.  Residuals may refer to the memory of
    the operands at the positions `captured`.
    """

    out_avals: Sequence[Any]
    dot_avals: Sequence[Any]
    run: Callable[..., tuple[Any, tuple[Value, ...]]]
    linear: Jaxpr
    pull: Pull | None
    pull_for: Callable[[tuple[bool, ...]], Pull]
    captured: Sequence[int]


class Step(NamedTuple):
    """One equation of a linear program, of the residuals and the tangents `invars`; as long as a `JaxprEqn`.

    `outvars` is one variable, or a tuple of variables for the tangents of a primitive with several results.
    """

    operation: LinearizedOperation
    invars: Sequence[Var]
    outvars: Any
    residuals: tuple[Value, ...]
    position: Any


new_step: Any = partial(tuple.__new__, Step)  # runs in C only, as for equations


class Operations:
    """The linearized operations that were made so far, by primitive, types and parameters.

    A key is a list of the primitive, then for each operand its type if it has a tangent, the class of a scalar without
    tangent, or None and the type of an array without tangent; then the parameters with their names.
    """

    __slots__ = ("known", "make")

    def __init__(self, make: Callable[..., LinearizedOperation | None]) -> None:
        self.known: dict[Any, Any] = {}
        self.make = make

    def find(self, key: list[Any], params: dict[str, Any]) -> LinearizedOperation | None:
        """Return the operation of a key, made at the third meeting; None if its rules have to run."""
        try:
            entry = self.known.get(tuple(key), 0)  # an operation, None, or the number of meetings
        except TypeError:  # parameters that cannot be hashed
            return None
        return entry if type(entry) is not int else self._meet(key, params, entry)

    def _meet(self, key: list[Any], params: dict[str, Any], count: int) -> LinearizedOperation | None:
        if len(self.known) >= _LIMIT:
            self.known.clear()
        if count < _MEETINGS:
            self.known[tuple(key)] = count + 1
            return None
        operation = self.known[tuple(key)] = self.make(key[0], *_operands(key[1:]), params)
        return operation


_MEETINGS = 2  # making an operation takes as long as 100 runs of its rules
_LIMIT = 4096


def _operands(parts: Sequence[Any]) -> tuple[list[Any], list[bool]]:
    """Return the types of the operands in a key, and whether they have a tangent."""
    avals: list[Any] = []
    mask: list[bool] = []
    for before, part in zip((0, *parts), parts):
        if isinstance(part, ShapedArray):
            avals.append(part)
            mask.append(before is not None)
        elif isinstance(part, type):
            avals.append(typeof(part(0)))
            mask.append(False)
    return avals, mask
