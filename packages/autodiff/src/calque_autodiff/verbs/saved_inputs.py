"""`saved_input_vjp`: a pullback that keeps no copy of arguments that its caller has anyway.

One idea: a pullback keeps numbers.  Arguments of the function among them are left out, and come back with the call.

Read next: `linear_functions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_autodiff.verbs.linear_functions import LinearFunction, LinearProgram, open_jaxpr, pull
from calque_autodiff.verbs.linearize import linearize_flat
from calque_core import api_boundary, current_trace, dce_jaxpr, typeof
from calque_core.engine import Captures, FlatPrimals, copied_where_exposed, flatten_primals
from calque_core.extend import check_callable, describe_function, marked, merged
from calque_pytree import PyTreeDef, register_pytree_node, tree_flatten, tree_leaves

Value = Any


@api_boundary
def saved_input_vjp(
    fun: Callable[..., Any],
    which: Sequence[bool],
    *primals: Any,
    allow_unused: bool = True,
    allow_opaque: bool = True,
) -> tuple[Any, Saved]:
    """Return `fun(*primals)` and a pullback that keeps none of the primals that `which` marks.

    The pullback takes the cotangent of the output, then the marked primals again, with the values that they had, and
    returns a tuple of the cotangents of all primals.  It is a pytree whose leaves are the other numbers that it needs.
    Scalars are not left out.  `allow_unused=False` refuses a marked array that the pullback does not need,
    `allow_opaque=False` any number that it keeps.
    Raises: TypeError if a primal is not an array, or a value does not fit its primal; ValueError if `which` does not
    have one bool for each primal, or an option refuses the pullback.

    >>> import numpy as np
    >>> from calque_autodiff import saved_input_vjp
    >>> x, w = np.ones(2), np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> y, pullback = saved_input_vjp(lambda x, w: x @ w, [True, True], x, w)
    >>> pullback(np.ones(2), x, w)[0]
    array([3., 7.])
    """
    check_callable(fun, "saved_input_vjp")
    caller = f"saved_input_vjp of {describe_function(fun)}"
    marks = _marks(caller, which, len(primals))
    leaves, in_tree = flatten_primals("saved_input_vjp", fun, primals)
    avals = [typeof(x).strip_weak_type() for x in leaves]
    is_passed = [mark for mark, primal in zip(marks, primals) for _ in tree_leaves(primal)]
    flat = FlatPrimals(fun, in_tree, "saved_input_vjp")
    with Captures(current_trace()) as captures:
        outs, tape = linearize_flat(flat, fun, leaves, avals, captures=captures, has_steps=True)
        jaxpr, _ = dce_jaxpr(tape.jaxpr(), [True] * len(tape.outvars), instantiate=True)
        places = _places(marked(leaves, is_passed), captures)
        sources = [places.get(id(x)) for x in jaxpr.consts]
        own = [x for x, source in zip(jaxpr.consts, sources) if source is None]
        kept = copied_where_exposed(own, [*leaves, *outs])
    if not allow_unused:
        _check_used(caller, marked(avals, is_passed), sources)
    if kept and not allow_opaque:
        raise ValueError(
            f"{caller}: the pullback keeps {', '.join(str(typeof(x)) for x in kept)}, and allow_opaque=False refuses "
            "it. Mark more primals in `which`, or use checkpoint."
        )
    out_avals = [typeof(x).strip_weak_type() for x in outs]
    name = f"vjp function of {describe_function(fun)}"
    program = LinearProgram("saved_input_vjp", name, open_jaxpr(jaxpr), avals, in_tree, out_avals, flat.out_tree)
    passed_tree = tree_flatten(tuple(marked(primals, marks)))[1]
    passed = Passed(passed_tree, tuple(marked(avals, is_passed)), tuple(sources))
    return flat.out_tree.unflatten(outs), Saved(program, passed, kept)


class Passed(NamedTuple):
    """The primals that a pullback gets again, and the place among them of each number of its program, or None."""

    tree: PyTreeDef
    avals: tuple[Any, ...]
    sources: tuple[int | None, ...]


class Saved:
    """A pullback of cotangents and of primals; a pytree whose leaves are the numbers that it keeps itself."""

    __slots__ = ("kept", "passed", "program")

    def __init__(self, program: LinearProgram, passed: Passed, kept: Sequence[Value]) -> None:
        self.program, self.passed, self.kept = program, passed, kept

    @api_boundary
    def __call__(self, ct: Any, *primals: Any) -> Any:
        leaves = self._leaves(primals)
        is_own = [source is None for source in self.passed.sources]
        again = [leaves[source] for source in self.passed.sources if source is not None]
        return pull(LinearFunction(pull, self.program, merged(is_own, self.kept, again)), (ct,), {})

    def _leaves(self, primals: tuple[Any, ...]) -> list[Value]:
        """Return the arrays of the primals.  Raises: TypeError if they do not fit."""
        leaves, tree = tree_flatten(primals)
        types = [typeof(x).strip_weak_type() for x in leaves] if tree == self.passed.tree else None
        if types is None or [(a.shape, a.dtype) for a in types] != [(a.shape, a.dtype) for a in self.passed.avals]:
            expected = self.passed.tree.show(list(map(str, self.passed.avals)))
            passed = tree.show([str(typeof(x)) for x in leaves])
            raise TypeError(
                f"the {self.program.name} got the primals {passed} behind the cotangent. Give the marked primals "
                f"again: {expected}."
            )
        return leaves

    def __repr__(self) -> str:
        return f"<{self.program.name}, which takes {len(self.passed.avals)} of its numbers as arguments>"


register_pytree_node(
    Saved,
    lambda f: (f.kept, (f.program, f.passed)),
    lambda data, kept: Saved(data[0], data[1], kept),
)


def _marks(caller: str, which: Any, count: int) -> list[bool]:
    """Return `which` as bools.  Raises: ValueError if it does not have one for each primal."""
    marks = list(which) if isinstance(which, Sequence) else []
    if len(marks) != count or not all(isinstance(mark, (bool, np.bool_)) for mark in marks):
        raise ValueError(f"{caller} got which={which!r} for {count} primals. Give a list with a bool for each primal.")
    return list(map(bool, marks))


def _places(leaves: Sequence[Value], captures: Captures) -> dict[int, int]:
    """Return the place of each array by its identity, and by that of the copy which operations computed with."""
    places = {}
    for i, x in enumerate(leaves):
        places[id(x)] = i
        if isinstance(x, np.ndarray):
            places[id(captures.use(x))] = i
    return places


def _check_used(caller: str, avals: Sequence[Any], sources: Sequence[int | None]) -> None:
    unused = [aval for i, aval in enumerate(avals) if aval.shape and i not in sources]
    if unused:
        raise ValueError(
            f"{caller}: the pullback does not need the marked array {unused[0]}, and allow_unused=False refuses it. "
            "Mark other primals in `which`."
        )
