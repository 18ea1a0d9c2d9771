"""Functions of numbers, and of small arrays, called for each element: `vectorize`.

One idea: the function is staged once, for one element.  If each of its operations acts on elements alone, the same
program takes whole arrays; otherwise it runs in a loop.  A function that asks for a value (`if x > 0`) is called for
one element after the other, which works where values are known: under derivatives, without `jit`.

Read next: `ufuncs.py`, which reduces and accumulates by such functions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from calque_core import ConcretizationTypeError, ShapedArray, ShapeError, eval_jaxpr, is_tracer, lax, make_jaxpr, typeof
from calque_core.engine import active, has_short_dtype, host_values, name_of, named_after
from calque_core.engine.numpy_functions import array_of, as_dtype, broadcast_to
from calque_core.extend import check_callable
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_pytree import tree_leaves

Value = Any
Function = Callable[..., Any]


def vectorize(
    pyfunc: Function | None = None,
    otypes: Any = None,
    doc: str | None = None,
    excluded: Iterable[int | str] | None = None,
    cache: bool = False,
    signature: str | None = None,
) -> Function:
    """Return the function that calls `pyfunc` for each element of its arguments, which are broadcast.

    On values alone it is `numpy.vectorize`.  `excluded` are positions and names of arguments that `pyfunc` gets whole.
    By a `signature` such as "(n),(n)->()", it gets the last axes of each argument; its other axes are broadcast.
    `pyfunc` may return a tuple; then so does the function.
    Dtypes: `otypes`, otherwise those of the results.
    Raises: ValueError for arguments and results that do not have the axes of the signature, and for arguments that do
    not broadcast; TypeError for another number of arguments; under `jit`, a tracer's own error if `pyfunc` asks for a
    value.

    >>> import numpy as np
    >>> from calque_numpy import vectorize
    >>> vectorize(lambda x, y: x + y if x > y else 0)(np.array([1, 5]), 2)
    array([0, 7])
    """
    if pyfunc is None:
        return partial(vectorize, otypes=otypes, doc=doc, excluded=excluded, cache=cache, signature=signature)
    check_callable(pyfunc, "vectorize")
    numpys = np.vectorize(pyfunc, otypes, doc, excluded, cache, signature)  # which checks the options
    whole = frozenset(excluded or ())

    @named_after(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        leaves = tree_leaves((args, kwargs))
        if not active and not any(is_tracer(x) or has_short_dtype(x) for x in leaves):
            return numpys(*host_values(args), **host_values(kwargs))
        positions = [i for i in range(len(args)) if i not in whole]
        names = [name for name in kwargs if name not in whole]
        arrays = [asarray(x) for x in (*(args[i] for i in positions), *(kwargs[name] for name in names))]

        def of_elements(*elements: Value) -> Any:
            filled = dict(zip(positions, elements))
            options = {**kwargs, **dict(zip(names, elements[len(positions) :]))}
            return pyfunc(*(filled.get(i, x) for i, x in enumerate(args)), **options)

        of_elements.__name__ = name_of(pyfunc)
        outs, is_tuple = _results(of_elements, arrays, signature)
        if otypes is not None:
            outs = [as_dtype(out, np.dtype(dtype)) for out, dtype in zip(outs, otypes, strict=True)]
        return tuple(outs) if is_tuple else outs[0]

    vectorized.__doc__ = doc or vectorized.__doc__
    return vectorized


def _results(function: Function, arrays: Sequence[Value], signature: str | None) -> tuple[Sequence[Value], bool]:
    """Return the results for all elements, and whether the function returns a tuple."""
    inner, outer = _axes(signature, len(arrays))
    sizes: dict[str, int] = {}
    loop = _checked_sizes(signature, arrays, inner, sizes)
    shapes = [typeof(x).shape[typeof(x).ndim - len(names) :] for x, names in zip(arrays, inner)]
    is_tuple = False

    def flat(*elements: Value) -> Sequence[Value]:
        nonlocal is_tuple
        out = function(*elements)
        is_tuple = isinstance(out, tuple)
        outs = [asarray(x) for x in (out if is_tuple else [out])]
        _check_results(signature, outs, [()] * len(outs) if outer is None else outer, dict(sizes))
        return outs

    try:
        program = make_jaxpr(flat)(*(ShapedArray(shape, typeof(x).dtype) for shape, x in zip(shapes, arrays)))
        is_elementwise = signature is None and all(eqn.primitive.is_elementwise for eqn in program.eqns)
    except ConcretizationTypeError:
        if not math.prod(loop):
            raise
        program, is_elementwise = None, False
    if is_elementwise:
        arrays = [broadcast_to(x, loop) if typeof(x).ndim else x for x in arrays]
        return [broadcast_to(out, loop) for out in eval_jaxpr(program, program.consts, *arrays)], is_tuple
    arrays = [broadcast_to(x, (*loop, *shape)) for shape, x in zip(shapes, arrays)]
    if program is None:
        return _one_by_one(flat, arrays, loop), is_tuple
    rows = [lax.reshape(x, (math.prod(loop), *shape)) for shape, x in zip(shapes, arrays)]
    outs = lax.map(lambda xs: eval_jaxpr(program, program.consts, *xs), rows)
    return [lax.reshape(out, (*loop, *typeof(out).shape[1:])) for out in outs], is_tuple


def _one_by_one(flat: Function, arrays: Sequence[Value], loop: tuple[int, ...]) -> list[Value]:
    """Return the results of one call for each element."""
    calls = [flat(*(x[index] for x in arrays)) for index in np.ndindex(loop)]
    results = (array_of(list(outs)) for outs in zip(*calls, strict=True))
    return [lax.reshape(out, (*loop, *typeof(out).shape[1:])) for out in results]


# Signatures

_Names = tuple[str, ...]


def _axes(signature: str | None, count: int) -> tuple[list[_Names], list[_Names] | None]:
    """Return the names of the axes of one element, for each argument and for each result.

    Raises: TypeError for another number of arguments.
    """
    if signature is None:
        return [()] * count, None
    inner, outer = ([_names(term) for term in re.findall(r"\(([^()]*)\)", side)] for side in signature.split("->"))
    if len(inner) != count:
        raise TypeError(
            f"vectorize{place()}: the signature {signature!r} has {len(inner)} arguments, and there are {count}. "
            "Give as many."
        )
    return inner, outer


def _names(term: str) -> _Names:
    return tuple(name.strip() for name in term.split(",") if name.strip())


def _check_results(
    signature: str | None, outs: Sequence[Value], outer: Sequence[_Names], sizes: dict[str, int]
) -> None:
    """Check the results for one element against the signature, and against the sizes of the arguments' axes.

    Raises: ValueError for another number of results, or a size that differs; ShapeError for another number of axes.
    """
    if len(outs) != len(outer):
        raise ValueError(
            f"vectorize{place()}: the function returns {len(outs)} results, and the signature {signature!r} has "
            f"{len(outer)}. Give as many."
        )
    for x, names in zip(outs, outer):
        shape = typeof(x).shape
        if len(shape) != len(names):
            raise ShapeError(
                f"vectorize{place()}: the function returns {typeof(x)} for one element, and the signature says "
                f"{len(names)} axes. Say the axes of the result: signature='(n)->(n)'."
            )
        if any(sizes.setdefault(name, size) != size for name, size in zip(names, shape)):
            raise ValueError(
                f"vectorize{place()}: the function returns {typeof(x)} for one element, whose axes "
                f"({', '.join(names)}) of the signature {signature!r} do not fit the arguments. Axes of one name must "
                "have one size."
            )


def _checked_sizes(
    signature: str | None, arrays: Sequence[Value], inner: Sequence[_Names], sizes: dict[str, int]
) -> tuple[int, ...]:
    """Return the shape of the loop: the axes of all arguments, without those of one element; `sizes` gets their sizes.

    Raises: ValueError if an argument has too few axes, or two axes of one name differ in size.
    """
    loops = []
    for x, names in zip(arrays, inner):
        shape = typeof(x).shape
        split = len(shape) - len(names)
        own = zip(names, shape[max(split, 0) :])
        if split < 0 or any(sizes.setdefault(name, size) != size for name, size in own):
            raise ValueError(
                f"vectorize{place()}: the axes ({', '.join(names)}) of the signature {signature!r} do not fit an "
                f"argument of type {typeof(x)}. Axes of one name must have one size."
            )
        loops.append(shape[:split])
    return tuple(lax.broadcast_shapes(*loops))
