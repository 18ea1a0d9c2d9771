"""`ravel_pytree`: a tree of arrays as one vector, and its inverse.

One idea: the inverse holds the structure, the shapes and the dtypes, and no array.  So it is a tree without leaves,
which transformed functions can return, and the inverses of equal structures are equal.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from calque_core.calls.api_util import array_leaves, describe_value, leaf_names
from calque_core.frames.source import where
from calque_core.memory.separate import copy_shared
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.ops.shapes.create import full
from calque_core.ops.shapes.joining import concatenate
from calque_core.ops.shapes.shape import reshape, slice
from calque_core.traces.tracer import known, unknown
from calque_core.types.avals import is_array_like, typeof
from calque_core.types.dtypes import dtype_name, kind_of, scalar_dtype
from calque_core.types.limits import finfo, iinfo
from calque_core.types.promotion import promote_types
from calque_pytree import PyTreeDef, register_static, static_key

Value = Any


@register_static
class Unravel:
    """The function that rebuilds a tree from the vector of its elements, compared by its fields.

    If the leaves have several dtypes, `dtypes` holds them, and the vector has `dtype`.
    """

    __slots__ = ("dtype", "dtypes", "shapes", "treedef")

    def __init__(
        self,
        treedef: PyTreeDef,
        shapes: tuple[tuple[int, ...], ...],
        dtype: np.dtype[Any] | None,
        dtypes: tuple[np.dtype[Any], ...],
    ) -> None:
        self.treedef, self.shapes, self.dtype, self.dtypes = treedef, shapes, dtype, dtypes

    @property
    def key(self) -> Hashable:
        """A key for caches of programs: equal only for functions that no program can tell apart."""
        return Unravel, self.treedef.key, self.shapes, self.dtype, self.dtypes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unravel) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Unravel({self.treedef!r}, {self.shapes}, {self.dtype}, {self.dtypes})"

    def __call__(self, flat: Value) -> Any:
        """Return the tree of the elements of `flat`, a vector.

        Raises: TypeError if it is no array, or if the leaves have several dtypes and the vector is not of `dtype`;
        ValueError if its shape differs from the vector of `ravel_pytree`.
        """
        stops = list(accumulate(map(prod, self.shapes)))
        self._check(flat, stops[-1] if stops else 0)
        starts = [0, *stops]
        pieces = [reshape(slice(flat, [a], [b]), shape) for a, b, shape in zip(starts, stops, self.shapes)]
        if self.dtype is not None:
            pieces = [convert_element_type(x, dtype) for x, dtype in zip(pieces, self.dtypes)]
        return self.treedef.unflatten(copy_shared(pieces, [flat]))

    def _check(self, flat: Value, size: int) -> None:
        if not is_array_like(flat):
            raise TypeError(f"unravel{where()} got {describe_value(flat)}. Give a vector of {size} elements.")
        aval = typeof(flat)
        if aval.shape != (size,):
            raise ValueError(f"unravel{where()} got {aval}. Give a vector of {size} elements, as ravel_pytree returns.")
        if self.dtype is not None and aval.dtype != self.dtype:
            raise TypeError(
                f"unravel{where()} got {aval}, but the leaves of the tree have the common dtype "
                f"{dtype_name(self.dtype)}. Convert the vector to this dtype."
            )


static_key.register(PyTreeDef, lambda treedef: (PyTreeDef, treedef.key))
static_key.register(Unravel, lambda unravel: unravel.key)


def ravel_pytree(tree: Any) -> tuple[Value, Unravel]:
    """Return the elements of all leaves of `tree` as one vector, and the function from such a vector to a tree.

    The vector has the common dtype to which the leaves promote; the function restores the dtype of each leaf.  If all
    leaves have one dtype, the function keeps the dtype of its argument.
    Shapes: leaves [*s], [*t], .. -> [prod(s) + prod(t) + ..].
    Raises: TypeError if a leaf is not an array, or holds traced integers of more digits than the common dtype, such as
    int64 beside float64; ValueError if such integers are known, and one has no equal number of the common dtype.

    >>> import numpy as np
    >>> from calque_core import ravel_pytree
    >>> flat, unravel = ravel_pytree({"w": np.ones((2, 2)), "b": 3.0})
    >>> flat
    array([3., 1., 1., 1., 1.])
    >>> unravel(2 * flat)["b"]
    np.float64(6.0)
    """
    leaves, treedef = array_leaves(f"ravel_pytree{where()}", "tree", tree)
    avals = [typeof(x) for x in leaves]
    shapes, dtypes = tuple(a.shape for a in avals), tuple(a.dtype for a in avals)
    if not leaves:
        return full((0,), 0, scalar_dtype(float)), Unravel(treedef, (), None, ())
    dtype = dtypes[0]
    for other in dtypes[1:]:
        dtype = promote_types(dtype, other)
    is_mixed = any(other != dtype for other in dtypes)
    for i, (x, other) in enumerate(zip(leaves, dtypes)):
        if kind_of(other) in "iu" and not _holds(dtype, other):
            _check_exact(x, dtype, leaf_names("tree", tree)[i])
    vectors = [reshape(convert_element_type(x, dtype), (prod(a.shape),)) for x, a in zip(leaves, avals)]
    (flat,) = copy_shared([concatenate(vectors, 0)], leaves)
    return flat, Unravel(treedef, shapes, dtype if is_mixed else None, dtypes if is_mixed else ())


def _holds(dtype: np.dtype[Any], integer: np.dtype[Any]) -> bool:
    """Tell whether a dtype has all numbers of a dtype of integers."""
    if kind_of(dtype) in "iu":
        return True  # the common dtype of integers
    digits = 8 * integer.itemsize - (kind_of(integer) == "i")
    return digits <= int(finfo(dtype).nmant) + 1


def _check_exact(x: Value, dtype: np.dtype[Any], name: str) -> None:
    """Check that integers have equal numbers of `dtype`.  Raises: TypeError if they are not known, or ValueError."""
    value = known(x)
    if value is unknown:
        raise TypeError(
            f"ravel_pytree{where()}: {name} has type {typeof(x)}, and {dtype_name(dtype)}, the common dtype of all "
            "leaves, lacks large integers. Convert it to a float, or to fewer bits, or ravel it apart."
        )
    values = np.asarray(value)
    with np.errstate(invalid="ignore"):  # a float beyond the integers
        back = values.astype(dtype).real.astype(values.dtype)
    other = values[(back != values) | (values == iinfo(values.dtype).max)]  # the greatest one has too many digits
    if other.size:
        raise ValueError(
            f"ravel_pytree{where()}: {name} has the value {other.ravel()[0]}, which {dtype_name(dtype)}, the common "
            "dtype of all leaves, does not have. Ravel the integers apart from the floats."
        )
