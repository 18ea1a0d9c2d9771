"""Functions of numbers as universal functions, which reduce and accumulate: `frompyfunc`.

One idea: a reduction takes the elements one after the other, from the first on, as NumPy does, in one `scan`.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import isfunction
from typing import Any, final

import numpy as np

from calque_core import eval_shape, lax, result_type, typeof
from calque_core.engine import active, name_of
from calque_core.engine.numpy_functions import as_dtype, at, broadcast_to, canonical_axes, dtype_argument, ravel, refuse
from calque_core.extend import check_callable, integer
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.evaluation import UFUNC_ATTRIBUTES
from calque_numpy.masks import where as chosen
from calque_numpy.shapes import moveaxis
from calque_numpy.vectorizing import vectorize
from calque_pytree import tree_leaves, tree_map

Value = Any
DType = Any


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """Return the universal function that calls `func`, which takes `nin` numbers and returns `nout`, for each element.

    Its methods `.reduce`, `.accumulate`, `.reduceat`, `.outer` and `.at` are those of NumPy's ufuncs; `identity` is the
    reduction of no elements.  Results have the dtype of the numbers that `func` returns, where NumPy has objects.
    Raises: TypeError unless `func` can be called; ValueError for fewer than one result.

    >>> import numpy as np
    >>> from calque_numpy import frompyfunc
    >>> frompyfunc(lambda x, y: x + 2 * y, 2, 1).reduce(np.array([1, 2, 3]))
    np.int64(11)
    """
    return ufunc(func, nin, nout, identity)


class _AnyUfunc(type):
    def __instancecheck__(cls, x: object) -> bool:
        is_ours = type.__instancecheck__(cls, x) or isinstance(x, np.ufunc)
        return is_ours or (isfunction(x) and all(hasattr(x, name) for name in UFUNC_ATTRIBUTES))


@final
class ufunc(metaclass=_AnyUfunc):
    """A function of numbers, called for each element of arrays; `frompyfunc` makes it.

    Functions such as `add` are instances, too, with `nin`, `nout`, `nargs`, `identity` and `types` of NumPy's.

    >>> import calque_numpy
    >>> isinstance(calque_numpy.add, calque_numpy.ufunc), calque_numpy.add.nin, isinstance(max, calque_numpy.ufunc)
    (True, 2, False)
    """

    def __init__(self, func: Callable[..., Any], nin: int, nout: int, identity: Any = None) -> None:
        check_callable(func, "frompyfunc")
        self.nin, self.nout = integer("frompyfunc", "nin", nin), integer("frompyfunc", "nout", nout)
        if self.nout < 1:
            raise ValueError(f"frompyfunc{place()}: nout is {nout}. Give one or more results.")
        self.identity = identity
        self.__name__ = name_of(func)
        self.__doc__ = func.__doc__
        self._call = vectorize(func)

    def __repr__(self) -> str:
        return f"<calque ufunc '{self.__name__}'>"

    @property
    def nargs(self) -> int:
        """The number of arguments and results."""
        return self.nin + self.nout

    def __call__(self, *args: Value) -> Any:
        """Return the results for all elements of the arguments, which are broadcast."""
        if len(args) != self.nin:
            raise TypeError(
                f"{self.__name__}{place()} takes {self.nin} arguments, and there are {len(args)}. Pass {self.nin}."
            )
        return self._call(*args)

    def reduce(
        self,
        a: Value,
        axis: Any = 0,
        dtype: DType = None,
        out: None = None,
        keepdims: bool = False,
        initial: Value = None,
        where: Value = True,
    ) -> Value:
        """Return the function of all elements along axes, from the first on: f(f(a[0], a[1]), a[2]).

        Raises: ValueError for no elements without `initial` and identity, for `where` without them, or for a function
        that does not take two arguments and return one result; TypeError for `out`.
        """
        refuse("reduce", out=out)
        rows, shape, axes = self._rows("reduce", a, axis, dtype)
        initial = self.identity if initial is None else initial
        if initial is None and (where is not True or not typeof(rows).shape[0]):
            raise ValueError(f"{self.__name__}.reduce{place()}: there is no first element. Give initial=.")
        first = rows[0] if initial is None else initial
        mask = self._rows("reduce", broadcast_to(asarray(where), shape), axis, None)[0]
        if typeof(rows).shape[0]:
            first = as_dtype(asarray(first), result_type(self._dtype(rows), asarray(first)))
        first = broadcast_to(asarray(first), typeof(rows).shape[1:])
        if initial is None:
            rows, mask = rows[1:], mask[1:]

        def step(total: Value, item: tuple[Value, Value]) -> tuple[Value, None]:
            row, is_included = item
            return chosen(is_included, as_dtype(self(total, row), typeof(total).dtype), total), None

        total, _ = _scan(step, first, (rows, mask))
        return lax.expand_dims(total, axes) if keepdims else total

    def accumulate(self, array: Value, axis: int = 0, dtype: DType = None, out: None = None) -> Value:
        """Return the functions of the first 1, 2, ... elements along an axis.

        Raises: ValueError for a function that does not take two arguments and return one result; TypeError for `out`.
        """
        refuse("accumulate", out=out)
        rows, _, axes = self._rows("accumulate", array, integer("accumulate", "axis", axis), dtype)
        if not typeof(rows).shape[0]:
            return moveaxis(rows, 0, axes[0])
        first = as_dtype(rows[0], self._dtype(rows))

        def step(total: Value, row: Value) -> tuple[Value, Value]:
            total = as_dtype(self(total, row), typeof(total).dtype)
            return total, total

        if typeof(rows).shape[0] == 1:
            return moveaxis(lax.expand_dims(first, (0,)), 0, axes[0])
        _, others = _scan(step, first, rows[1:])
        return moveaxis(lax.concatenate([lax.expand_dims(first, (0,)), others], 0), 0, axes[0])

    def reduceat(self, array: Value, indices: Any, axis: int = 0, dtype: DType = None, out: None = None) -> Value:
        """Return the reductions of slices along an axis, each from one known index to the next, or else one element.

        Raises: IndexError for an index out of bounds; TypeError for `out`.
        """
        refuse("reduceat", out=out)
        rows, _, axes = self._rows("reduceat", array, integer("reduceat", "axis", axis), dtype)
        n, starts = typeof(rows).shape[0], np.asarray(indices)
        if starts.size and not (starts.min() >= 0 and starts.max() < n):
            raise IndexError(
                f"{self.__name__}.reduceat{place()}: the indices are {indices}, of {n} elements. Give 0 to {n - 1}."
            )
        stops = [*starts[1:], n]
        pieces = [rows[i:j] if i < j else rows[i : i + 1] for i, j in zip(starts, stops)]
        return moveaxis(lax.stack([self.reduce(piece) for piece in pieces]), 0, axes[0])

    def outer(self, A: Value, B: Value) -> Value:
        """Return the function of each element of one array and each element of another."""
        A, B = asarray(A), asarray(B)
        return self(lax.expand_dims(A, range(typeof(A).ndim, typeof(A).ndim + typeof(B).ndim)), B)

    def at(self, a: Value, indices: Any, b: Value = None, /, *, inplace: bool = False) -> Value:
        """Return the array with the elements at an index replaced by the function of them and of `b`, one by one.

        Raises: TypeError for `inplace`: NumPy's method changes its argument.
        """
        if inplace:
            raise TypeError(f"{self.__name__}.at{place()}: an array is not changed in place. Use the result.")
        a = asarray(a)
        places = at(np.arange(typeof(a).size).reshape(typeof(a).shape))[indices].get()
        others = () if self.nin == 1 else (ravel(broadcast_to(asarray(b), typeof(places).shape)),)

        def step(flat: Value, item: tuple[Value, ...]) -> tuple[Value, None]:
            position, *operands = item
            return at(flat)[position].set(as_dtype(self(flat[position], *operands), typeof(flat).dtype)), None

        flat, _ = _scan(step, ravel(a), (ravel(places), *others))
        return lax.reshape(flat, typeof(a).shape)

    def _dtype(self, rows: Value) -> np.dtype[Any]:
        """Return the dtype of results for elements of these rows."""
        one = rows[:1]
        return typeof(eval_shape(self._call, one, one) if active else self._call(one, one)).dtype  # type: ignore[no-any-return]

    def _rows(self, name: str, a: Value, axis: Any, dtype: DType) -> tuple[Value, tuple[int, ...], tuple[int, ...]]:
        """Return the array with the axes of the reduction as its first one; its shape, and the axes."""
        if (self.nin, self.nout) != (2, 1):
            raise ValueError(
                f"{self.__name__}.{name}{place()} needs a function of two arguments with one result. It has {self.nin} "
                f"and {self.nout}."
            )
        a = asarray(a) if dtype is None else asarray(a, dtype_argument(dtype))
        shape = typeof(a).shape
        axes = tuple(range(len(shape))) if axis is None else canonical_axes(name, axis, len(shape))
        kept = [n for d, n in enumerate(shape) if d not in axes]
        count = int(np.prod([shape[d] for d in axes]))
        return lax.reshape(moveaxis(a, axes, tuple(range(len(axes)))), (count, *kept)), shape, axes


def _scan(step: Callable[[Value, Any], tuple[Value, Value]], first: Value, items: Any) -> tuple[Value, Value]:
    """Return the results of `lax.scan`; where nothing traces, of a loop of Python, since `step` may ask for values."""
    if active:
        return lax.scan(step, first, items)
    outs = []
    for i in range(typeof(tree_leaves(items)[0]).shape[0]):
        first, out = step(first, tree_map(lambda x, i=i: x[i], items))
        outs.append(out)
    return first, None if not outs or outs[0] is None else lax.stack(outs)
