"""Questions of transformations to a type, of an array or of one's own: equality, tangents, axes, arrays.

One idea: a rule of `scan` or `cond` that asks these questions serves own types, too.

Read next: `own_types.py`, the types of one's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from calque_core.frames.source import where
from calque_core.types.avals import ShapedArray, is_array_like, shaped_array, short_repr, typeof
from calque_core.types.dtypes import float0, is_float
from calque_core.types.own_types import OwnType, is_own

Value = Any


def same_type(x: Any, y: Any) -> bool:
    """Tell whether two types differ at most in weakness and in the axes of a mesh.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.engine import same_type
    >>> same_type(typeof(1.0), typeof(np.float64(1.0))), same_type(typeof(1), typeof(1.0))
    (True, False)
    """
    if type(x) is ShapedArray and type(y) is ShapedArray:
        return x.shape == y.shape and x.dtype == y.dtype
    return bool(x == y)


def same_types(xs: Sequence[Any], ys: Sequence[Any]) -> bool:
    """Tell whether two lists have the same types, as `same_type` says."""
    return len(xs) == len(ys) and all(map(same_type, xs, ys))


def has_tangent(aval: Any) -> bool:
    """Tell whether values of a type have tangents other than zero.

    >>> from calque_core import typeof
    >>> from calque_core.engine import has_tangent
    >>> has_tangent(typeof(1.0)), has_tangent(typeof(1))
    (True, False)
    """
    if type(aval) is ShapedArray:
        return aval.kind in "fc"
    tangent_aval = aval.to_tangent_aval()
    return not (type(tangent_aval) is ShapedArray and tangent_aval.dtype == float0)


def with_leading_axis(aval: Any, size: int) -> Any:
    """Return the type of `size` values of a type, stacked.

    Raises: TypeError if the arrays of an own type do not all get the axis; NotImplementedError if it has no such rule.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.engine import with_leading_axis
    >>> with_leading_axis(typeof(np.zeros(2)), 3)
    float64[3,2]
    """
    if type(aval) is ShapedArray:
        return shaped_array((size, *aval.shape), aval.dtype).varying(aval.vma)
    return _stacked_type(aval, size)


@lru_cache(maxsize=1 << 10)
def _stacked_type(aval: OwnType, size: int) -> OwnType:
    stacked = aval.with_axis(size)
    _check_axis(aval, stacked, size, f"{aval}.with_axis({size}) is {stacked}")
    return stacked


def without_leading_axis(aval: Any) -> Any:
    """Return the type of one slice along the leading axis.

    Raises: as `with_leading_axis`.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.engine import without_leading_axis
    >>> without_leading_axis(typeof(np.zeros((3, 2))))
    float64[2]
    """
    if type(aval) is ShapedArray:
        return shaped_array(aval.shape[1:], aval.dtype).varying(aval.vma)
    return _item_type(aval)


@lru_cache(maxsize=1 << 10)
def _item_type(aval: OwnType) -> OwnType:
    item = aval.without_axis()
    _check_axis(item, aval, leading_size(aval), f"{aval}.without_axis() is {item}")
    return item


def with_axis_at(aval: Any, dim: int, size: int) -> Any:
    """Return a type with one more axis at `dim`; of one's own, among its leading axes.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.engine import with_axis_at
    >>> with_axis_at(typeof(np.zeros((3, 2))), 1, 4)
    float64[3,4,2]
    """
    if not dim:
        return with_leading_axis(aval, size)
    outer = leading_size(aval)
    assert outer is not None, aval
    return with_leading_axis(with_axis_at(without_leading_axis(aval), dim - 1, size), outer)


def without_axis_at(aval: Any, dim: int) -> Any:
    """Return a type without the axis at `dim`; of one's own, one of its leading axes.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.engine import without_axis_at
    >>> without_axis_at(typeof(np.zeros((3, 4, 2))), 1)
    float64[3,2]
    """
    inner = without_leading_axis(aval)
    if not dim:
        return inner
    outer = leading_size(aval)
    assert outer is not None, aval
    return with_leading_axis(without_axis_at(inner, dim - 1), outer)


def leading_size(aval: Any) -> int | None:
    """Return the size of the leading axis; None for a value without axes.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.engine import leading_size
    >>> leading_size(typeof(np.zeros((3, 2)))), leading_size(typeof(1.0))
    (3, None)
    """
    shapes = [aval.shape] if type(aval) is ShapedArray else [x.shape for x in aval.arrays().values()]
    return shapes[0][0] if shapes and all(shapes) else None


def lower_avals(aval: Any) -> list[ShapedArray]:
    """Return the types of the arrays that a value of a type consists of: an array, of itself.

    >>> from calque_core import typeof
    >>> from calque_core.engine import lower_avals
    >>> lower_avals(typeof(1.0))
    [~float64[]]
    """
    return list(aval.arrays().values()) if is_own(aval) else [aval]


def _check_axis(item: Any, stacked: Any, size: int | None, claim: str) -> None:
    """Check that the arrays of `stacked` are those of `item`, each with one more axis in front."""
    shapes = {name: (size, *x.shape) for name, x in item.arrays().items()}
    actual = {name: x.shape for name, x in stacked.arrays().items()}
    for name in shapes.keys() | actual.keys():
        if shapes.get(name) != actual.get(name):
            raise TypeError(
                f"{claim}, whose array {name} has the shape {actual.get(name)} instead of {shapes.get(name)}. A value "
                "is mapped along axis 0 of each of its arrays; use in_axes=None for one that is not stacked."
            )


def tangent_arrays(aval: Any) -> Mapping[str, ShapedArray]:
    """Return the types of the arrays of tangents, by name, where they are tangents of the arrays of the same names.

    Raises: TypeError if tangents are of another kind: only a rule of the author's knows their derivative.
    """
    tangent_aval, own = aval.to_tangent_aval(), aval.arrays()
    dots: Mapping[str, ShapedArray] = tangent_aval.arrays() if is_own(tangent_aval) else {}
    tangents = {name: x.to_tangent_aval() for name, x in own.items() if is_float(x.dtype)}
    if not tangents or tangents.keys() != dots.keys() or not all(same_type(dots[n], x) for n, x in tangents.items()):
        raise TypeError(
            f"the arrays of {aval} have no derivative of their own: its tangents are {tangent_aval}. Write the "
            "operation as a primitive with a jvp rule, and a batch rule for a vmap inside a derivative; or as a "
            "custom_jvp function."
        )
    return dots


# A value and its arrays


def check_arrays_of(aval: Any, avals: Sequence[Any]) -> None:
    """Check that arrays of the types `avals` are those of a value of an own type.  Raises: TypeError."""
    for (name, expected), actual in zip(aval.arrays().items(), avals, strict=True):
        if not same_type(expected, actual):
            raise TypeError(
                f"the array {name} of a value of type {aval}{where()} is {actual}, but {type(aval).__name__}.arrays "
                f"says {expected}. Convert the array, or correct one of the two."
            )


def arrays_of(x: Value) -> list[Value]:
    """Return the arrays of a value of an own class, no tracer; a Python scalar among them is a scalar of NumPy's.

    Raises: TypeError if they are not as its type says.
    """
    aval = typeof(x)
    arrays = [getattr(x, name) for name in aval.arrays()]
    for name, array in zip(aval.arrays(), arrays):
        if not is_array_like(array):
            raise TypeError(
                f"the array {name} of a value of type {aval}{where()} is {short_repr(array)}. Give it an array."
            )
    check_arrays_of(aval, [*map(typeof, arrays)])
    return [x.dtype.type(a) if type(a) in _PYTHON_SCALARS else a for x, a in zip(aval.arrays().values(), arrays)]


_PYTHON_SCALARS = frozenset((bool, int, float, complex))
