"""Checks in programs: an error with the user's message where a predicate does not hold.

One idea: a check is an equation with an effect and no result, so that it is neither removed nor merged with another
check nor made twice.  Every run of the program makes it, and its error comes out of the call.  One equation checks a
whole batch: `Check.batch` says which operands have which axes of it.

Read next: `host_function.py`; the rules of `check` in `batching`, which also leave out the elements of a batch that do
not take a branch or have left a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calque_core.calls.api_util import describe_value
from calque_core.calls.formats import check_format
from calque_core.context import here
from calque_core.errors import CheckError
from calque_core.frames.source import Position, at_place, current_position, where
from calque_core.frames.tracebacks import api_boundary
from calque_core.jaxprs.effects import Effect
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import ShapedArray, is_array_like, typeof
from calque_pytree import PyTreeDef, tree_flatten

Value = Any
Index = tuple[int, ...]

check_effect = Effect("check", exact=False, by_element=True)


@dataclass(frozen=True, slots=True, weakref_slot=True, repr=False)
class Check:
    """The function that a check calls: it raises if the predicate, its first operand, does not hold everywhere.

    The other operands are the values of the message; `statics` are the values that are no arrays, with their places.
    `batch` has a row for each axis that `vmap` has put in front, the outermost first: whether each value has the axis.
    """

    message: str
    in_tree: PyTreeDef
    statics: tuple[tuple[int, Any], ...]
    batch: tuple[tuple[bool, ...], ...] = ()
    position: Position | None = field(default=None, compare=False)

    @property
    def __name__(self) -> str:  # the printer of programs shows it
        return "check"

    @property
    def result_avals(self) -> tuple[ShapedArray, ...]:
        """The types of the results: a check has no results."""
        return ()

    def __call__(self, predicate: Value, *values: Value) -> list[Value]:
        """Return no results.  Raises: CheckError about the first element of `predicate` that is False."""
        holds = np.asarray(predicate)
        if not holds.all():
            raise self._failure(holds, [np.array(x, typeof(x).dtype) for x in values])
        return []

    def __repr__(self) -> str:
        return f"the check {self.message!r}{at_place(self.position)}"

    def _failure(self, holds: np.ndarray[Any, Any], values: Sequence[np.ndarray[Any, Any]]) -> CheckError:
        """Return the error about the first False in `holds`; it keeps copies, since XLA lends its memory."""
        index = tuple(int(i) for i in np.unravel_index(np.argmin(holds), holds.shape))
        depth = len(self.batch)
        leaves: list[Any] = []
        for number, x in enumerate(values):
            element = x[tuple(i for i, has_axis in zip(index, self.batch) if has_axis[number])]
            leaves.append(_shown(element, holds.shape[depth:], index[depth:]))
        for i, static in self.statics:
            leaves.insert(i, static)
        shown = self.in_tree.unflatten(leaves)
        place = f" for element {list(index[:depth])} of vmap" if depth else ""
        place += f" at index {list(index[depth:])}" if index[depth:] else ""
        error = CheckError(f"check{at_place(self.position)} failed{place}: {self.message.format(*shown)}")
        error.index, error.values = index, shown
        return error


def _shown(x: np.ndarray[Any, Any], shape: tuple[int, ...], index: Index) -> Value:
    """Return the part of a value that belongs to an index of a predicate of `shape`; a value of another shape whole."""
    if x.ndim <= len(shape) and all(n in (1, m) for n, m in zip(x.shape[::-1], shape[::-1])):
        return np.broadcast_to(x, shape)[index]
    return x[index] if x.shape[: len(shape)] == shape else x


check_p = Primitive("check", multiple_results=True, effects=frozenset((check_effect,)))
check_p.def_impl(lambda *args, check: check(*args))
check_p.def_abstract_eval(lambda *avals, check: [])
check_p.def_rule("vma", lambda vmas, **_: [])
check_p.def_pp(lambda params: {"message": params["check"].message})
check_p.def_hole("transpose", "the backward pass does not compute the tangents that it would check")


def has_checks(*programs: Jaxpr) -> bool:
    """Tell whether a program, or one inside it, has a check.

    >>> from calque_core import check, make_jaxpr
    >>> from calque_core.engine import has_checks
    >>> has_checks(make_jaxpr(lambda x: check(x > 0, "no price"))(1.0)), has_checks(make_jaxpr(lambda x: x)(1.0))
    (True, False)
    """
    return any(check_effect in program.effects for program in programs)


@api_boundary
def check(predicate: Any, message: str, *values: Any) -> None:
    """Raise CheckError with `message.format(*values)` if `predicate`, a bool or an array of bools, is False somewhere.

    The program checks each time it runs, also in compiled programs, where the error comes out of the call, and under
    `vmap`, derivatives, loops and branches.  The error has the line of this call, and the position of the first False.
    Of a value with the shape of the predicate, or one that broadcasts to it, the message shows the element at this
    position; of a value with more axes its part there; of any other shape the whole.  A value that is no array, such
    as a string, is shown as it is.  `config.checks(False)` leaves checks out of the program.
    Raises: CheckError; TypeError for a predicate of another dtype, or a message that is no string; ValueError that
    names the values without a field in the message, and the fields without a value.

    >>> import numpy as np
    >>> from calque_core import CheckError, check
    >>> def area(width):
    ...     check(width > 0, "the width {} is not positive", width)
    ...     return width * width
    >>> try:
    ...     area(np.array([1.0, -2.0]))
    ... except CheckError as error:
    ...     print(error.index, str(error).partition("(area) ")[2])
    (1,) failed at index [1]: the width -2.0 is not positive
    """
    if not here().settings.checks:
        return
    if not is_array_like(predicate) or typeof(predicate).dtype != bool:
        raise TypeError(
            f"check{where()} got {describe_value(predicate)} as its predicate. Give a bool or an array of bools, such "
            "as x > 0 or isfinite(x)."
        )
    check_format("check", message, values, {})
    leaves, in_tree = tree_flatten(values)
    statics = tuple((i, x) for i, x in enumerate(leaves) if not is_array_like(x))
    made = Check(message, in_tree, statics, (), current_position())
    check_p.bind(predicate, *filter(is_array_like, leaves), check=made)
