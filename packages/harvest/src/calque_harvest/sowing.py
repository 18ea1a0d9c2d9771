"""Giving names to values: `sow`, `sow_cotangent`.

Read next: `marks.py`, the primitives that these bind; `verbs.py`, which reads the names.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from calque_core import api_boundary, current_trace, evaluation, is_tracer
from calque_core.extend import check_arrays, where
from calque_harvest.marks import MODES, TAG, report, sow_cotangent_p
from calque_pytree import tree_flatten

T = TypeVar("T")

_PLAIN = frozenset((np.ndarray, np.float64, np.float32, float, int))


@api_boundary
def sow(value: T, *, name: str, tag: str = TAG, mode: str = "strict") -> T:
    """Return `value`, a pytree of arrays, and give it a name, under which `harvest` returns or replaces it.

    Without a harvest around, this is the identity, and nothing in a compiled program.  `tag` divides names: a harvest
    reads one tag.  `mode` says what happens if the name comes again: "strict" refuses it, "clobber" keeps the last
    value, "append" keeps all, stacked along a new leading axis.  In a loop the name comes at every step.
    Shapes and dtypes: kept.
    Raises: TypeError if a leaf is no array or a name no string; ValueError for another mode.

    >>> import numpy as np
    >>> from calque_harvest import call_and_reap, sow
    >>> def f(x):
    ...     y = sow(np.sin(x), name="y")
    ...     return y * y
    >>> f(0.0)
    np.float64(0.0)
    >>> call_and_reap(f)(0.0)
    (np.float64(0.0), {'y': np.float64(0.0)})
    """
    _check_words("sow", name, tag, mode)
    if type(value) in _PLAIN and current_trace() is evaluation:  # nobody reads it; saves 4 us
        return value
    leaves, tree = tree_flatten(value)
    _check_leaves("sow", name, leaves)
    params = {"name": name, "tag": tag, "mode": mode, "tree": None if tree.is_leaf else tree}
    return tree.unflatten(report(leaves, params))  # type: ignore[no-any-return]


@api_boundary
def sow_cotangent(value: T, *, name: str, tag: str = TAG, mode: str = "strict") -> T:
    """Return `value`, a pytree of arrays, and give a name to the cotangent that arrives there in reverse mode.

    The harvest of a gradient has it among its values: `reap(grad(f))`.  A value that does not depend on the arguments
    of the derivative, or on which the result does not depend, has no cotangent; a place in a loop needs the mode
    "clobber" or "append".
    Raises: as `sow`.

    >>> from calque_core import make_jaxpr
    >>> from calque_harvest import sow_cotangent
    >>> make_jaxpr(lambda x: sow_cotangent(x * x, name="bar"))(5.0)
    { lambda ; a:f64[]. let
        b:f64[] = mul a a
        c:f64[] = sow_cotangent[name=bar] b
      in (c,) }
    """
    _check_words("sow_cotangent", name, tag, mode)
    leaves, tree = tree_flatten(value)
    _check_leaves("sow_cotangent", name, leaves)
    params = {"name": name, "tag": tag, "mode": mode, "tree": None if tree.is_leaf else tree}
    return tree.unflatten(sow_cotangent_p.bind(*leaves, **params))  # type: ignore[no-any-return]


def _check_words(verb: str, name: Any, tag: Any, mode: Any) -> None:
    for argument, value in (("name", name), ("tag", tag)):
        if type(value) is not str:
            raise TypeError(f"{verb}{where()} got {argument}={value!r}. Give a string.")
    if mode not in MODES:
        raise ValueError(f"{verb}{where()} got mode={mode!r}. Use one of {', '.join(map(repr, MODES))}.")


def _check_leaves(verb: str, name: str, leaves: list[Any]) -> None:
    if not leaves:
        raise TypeError(f"{verb}{where()} got a value without arrays for the name {name!r}. Give at least one array.")
    if all(type(x) in _PLAIN or is_tracer(x) for x in leaves):  # nearly always; the place of the call takes 20 us
        return
    check_arrays(leaves, lambda: [f"leaf {i} of {name!r}" for i in range(len(leaves))], f"{verb}{where()}")
