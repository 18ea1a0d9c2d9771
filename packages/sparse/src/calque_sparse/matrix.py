"""Sparse matrices: the pattern of the entries that may differ from zero, and a pattern with values.

One idea: a pattern has, row after row, the columns of the entries; so the values of a matrix are one array in this
order.  The pattern is static, and a sparse matrix is a pytree with one leaf: `jit` returns it, `vmap` stacks it.

Read next: `coloring.py`, which groups the rows or columns of a pattern.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calque_core import lax, typeof
from calque_core.extend import late_function, of_one_dtype
from calque_pytree import register_pytree_node
from calque_sparse.sets import sorted_distinct

Value = Any
_csr_array = late_function("scipy.sparse", "csr_array")


@final
class SparsityPattern:
    """The entries of a matrix of `shape` that may differ from zero: `rows[k]`, `columns[k]`, in order of rows.

    `offsets[i] : offsets[i + 1]` are the entries of row i.  A pattern is immutable and compared by its entries.

    >>> from calque_sparse import SparsityPattern
    >>> pattern = SparsityPattern((2, 3), rows=[0, 1, 1], columns=[0, 2, 1])
    >>> pattern
    SparsityPattern of shape (2, 3) with 3 entries
    >>> pattern.toarray().astype(int)
    array([[1, 0, 0],
           [0, 1, 1]])
    """

    __slots__ = ("__weakref__", "_key", "columns", "offsets", "rows", "shape")

    def __init__(self, shape: tuple[int, int], rows: Any, columns: Any) -> None:
        rows, columns = np.asarray(rows, np.int64), np.asarray(columns, np.int64)
        for axis, (name, positions) in enumerate((("row", rows), ("column", columns))):
            outside = (positions < 0) | (positions >= shape[axis])
            if outside.any():
                wrong = positions[outside][0]
                raise ValueError(f"the pattern got {name} {wrong}. Its shape is {shape}: use 0 to {shape[axis] - 1}.")
        self.shape = shape
        keys = sorted_distinct(rows * shape[1] + columns)
        self.rows, self.columns = np.divmod(keys, max(shape[1], 1))
        self.offsets = np.searchsorted(self.rows, np.arange(shape[0] + 1))
        self._key = (shape, keys.tobytes())
        for array in (self.rows, self.columns, self.offsets):
            array.flags.writeable = False

    @classmethod
    def of(cls, matrix: Any) -> SparsityPattern:
        """Return the pattern of the nonzero entries of a matrix, an array or one of SciPy's.

        >>> import numpy as np
        >>> from calque_sparse import SparsityPattern
        >>> SparsityPattern.of(np.eye(3))
        SparsityPattern of shape (3, 3) with 3 entries
        """
        if isinstance(matrix, SparsityPattern):
            return matrix
        array = matrix if hasattr(matrix, "tocoo") else np.asarray(matrix)
        if len(array.shape) != 2:
            raise ValueError(
                f"a pattern has rows and columns, but the array has the shape {array.shape}. Give a matrix."
            )
        return cls(array.shape, *array.nonzero())

    @property
    def nnz(self) -> int:
        """The number of entries."""
        return len(self.rows)

    @property
    def T(self) -> SparsityPattern:
        """The pattern of the transposed matrix."""
        return SparsityPattern(self.shape[::-1], self.columns, self.rows)

    def toarray(self) -> NDArray[np.bool_]:
        """Return a matrix of bools: whether each entry may differ from zero."""
        out = np.zeros(self.shape, bool)
        out[self.rows, self.columns] = True
        return out

    def to_scipy(self) -> Any:
        """Return a `scipy.sparse.csr_array` of ones at the entries.  Needs SciPy."""
        return _csr_array((np.ones(self.nnz), self.columns, self.offsets), shape=self.shape)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, SparsityPattern) and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"SparsityPattern of shape {self.shape} with {self.nnz} entries"


@final
class SparseArray:
    """The matrix with `values[..., k]` at row `pattern.rows[k]` and column `pattern.columns[k]`, and zeros elsewhere.

    Under `vmap` or after it, leading axes of the values count matrices.

    >>> import numpy as np
    >>> from calque_sparse import SparseArray, SparsityPattern
    >>> matrix = SparseArray(SparsityPattern((2, 3), [0, 1], [2, 0]), np.array([5.0, 7.0]))
    >>> matrix.toarray()
    array([[0., 0., 5.],
           [7., 0., 0.]])
    >>> matrix @ np.array([1.0, 2.0, 3.0])
    array([15.,  7.])
    """

    __slots__ = ("pattern", "values")

    def __init__(self, pattern: SparsityPattern, values: Value) -> None:
        self.pattern, self.values = pattern, values

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the dense array."""
        return (*typeof(self.values).shape[:-1], *self.pattern.shape)

    def toarray(self) -> Value:
        """Return the dense array.  Shapes: values [*s, nnz] -> [*s, rows, columns]."""
        rows, columns = self.pattern.shape
        places = np.full(rows * columns, self.pattern.nnz)  # of a zero behind the values
        places[self.pattern.rows * columns + self.pattern.columns] = np.arange(self.pattern.nnz)
        padding = [(0, 0, 0)] * (len(self.shape) - 2) + [(0, 1, 0)]
        padded = lax.pad(self.values, np.zeros((), typeof(self.values).dtype), padding)
        return lax.reshape(padded[..., places], self.shape)

    def to_scipy(self) -> Any:
        """Return a `scipy.sparse.csr_array` with a copy of the values.  Needs SciPy.

        Raises: ValueError for a batch of matrices.
        """
        pattern = self.pattern
        if self.shape != pattern.shape:
            raise ValueError(
                f"to_scipy got a batch of matrices, {self.shape}. Make a SparseArray of one row of values."
            )
        return _csr_array((np.array(self.values), pattern.columns, pattern.offsets), shape=pattern.shape)

    def __matmul__(self, vector: Value) -> Value:
        """Return the product with a vector.  Shapes: [rows, columns] @ [columns] -> [rows]."""
        if (*self.pattern.shape[:1], *typeof(vector).shape) != self.shape:
            raise ValueError(f"sparse {self.shape} @ {typeof(vector)} does not fit. Give one element for each column.")
        terms = lax.mul(*of_one_dtype("@", self.values, vector[self.pattern.columns]))
        return add_at(self.pattern.rows, terms, self.pattern.shape[0])

    def __repr__(self) -> str:
        return f"SparseArray of shape {self.shape} with {self.pattern.nnz} entries, {typeof(self.values).dtype}"


register_pytree_node(SparseArray, lambda x: ((x.values,), x.pattern), lambda pattern, xs: SparseArray(pattern, *xs))


def add_at(places: Any, terms: Value, size: int) -> Value:
    """Return a vector of `size` sums of the terms at each place.  Shapes: places [k], terms [k] -> [size]."""
    zeros, numbers = lax.full((size,), 0, typeof(terms).dtype), lax.ScatterDimensionNumbers((), (0,), (0,))
    return lax.scatter_add(zeros, places[:, None], terms, numbers, mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS)
