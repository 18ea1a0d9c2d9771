"""`einsum`: products and sums by named axes.

One idea: an operand is an array and one label per axis.  Operands are joined from left to right: what a label in both
means is a batch axis if it is needed later, and is summed at once if it is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_core import NumpyRuleError, ShapeError, implements, lax, typeof
from calque_core.api_util import describe_value
from calque_core.numpy_protocol import refuse
from calque_core.operands import promoted_dtype
from calque_core.source import where
from calque_numpy.creation import asarray
from calque_numpy.matrices import diagonal
from calque_numpy.products import contract

Value = Any
Labels = tuple[Any, ...]  # a letter, or an integer for an axis of the ellipsis


class Operand(NamedTuple):
    """An array, and the label of each axis."""

    array: Value
    labels: Labels


@implements(np.einsum)
def einsum(subscripts: str, /, *operands: Value, out: None = None, optimize: Any = False, **options: Any) -> Value:
    """Return the products of the operands' elements, summed over the labels that the result does not have.

    Without '->', the result has those that stand once, in alphabetical order.  '...' stands for any number of axes,
    which broadcast.  `optimize` changes nothing: operands are joined from left to right.
    Dtype: promoted, and kept by sums.
    Raises: ValueError if `subscripts` does not fit the operands; ShapeError if axes of one label differ in size;
    TypeError for options that mean something only for arrays in memory.

    >>> import numpy as np
    >>> from calque_numpy import einsum
    >>> einsum("ij,jk->ik", np.ones((2, 3)), np.ones((3, 4))).shape
    (2, 4)
    >>> einsum("ii", np.array([[1, 2], [3, 4]]))
    np.int64(5)
    """
    refuse("einsum", out=out, **options)
    if not isinstance(subscripts, str):
        kind = describe_value(subscripts)
        raise NumpyRuleError(f"einsum{where()}: the subscripts are {kind}. Give a string such as 'ij,jk->ik'.")
    dtype = promoted_dtype("einsum", *operands) if operands else None
    named, result = _parse(subscripts, [asarray(x, dtype) for x in operands])
    sizes = _sizes(subscripts, named)
    first, *rest = [_simple(operand, sizes) for operand in named]
    for position, operand in enumerate(rest, 1):
        needed = {*result, *(label for later in rest[position:] for label in later.labels)}
        first = _joined(_summed(first, {*needed, *operand.labels}), _summed(operand, {*needed, *first.labels}), needed)
    summed = _summed(first, set(result))
    return lax.transpose(summed.array, [summed.labels.index(label) for label in result])


# What the subscripts say


def _parse(subscripts: str, arrays: Sequence[Value]) -> tuple[list[Operand], Labels]:
    """Return the operands with their labels, and the labels of the result."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(arrays):
        raise _misfit(subscripts, f"{len(terms)} operands are described, but {len(arrays)} were given")
    for term in (*terms, output):
        if not all(letter.isalpha() for letter in term.replace("...", "", 1)):
            raise _misfit(subscripts, f"{term!r} holds something else than letters and one '...'")
    ndims = [typeof(x).ndim - len(term.replace("...", "")) for term, x in zip(terms, arrays)]
    for term, x, extra in zip(terms, arrays, ndims):
        if extra < 0 or (extra and "..." not in term):
            raise _misfit(subscripts, f"{term!r} does not name the axes of an operand of type {typeof(x)}")
    labels = [_labels(term, extra) for term, extra in zip(terms, ndims)]
    widest = max(extra for term, extra in zip(terms, ndims))
    result = _labels(output, widest) if arrow else _implied(labels, widest)
    unknown = [label for label in result if not any(label in one for one in labels)]
    if unknown or len(set(result)) != len(result) or (widest and arrow and "..." not in output):
        raise _misfit(subscripts, "the result must name labels of the operands, each once, and '...' if they have it")
    return [Operand(x, one) for x, one in zip(arrays, labels)], result


def _misfit(subscripts: str, problem: str) -> ValueError:
    return ValueError(f"einsum {subscripts!r}{where()}: {problem}. Write one label per axis, as in 'ij,jk->ik'.")


def _labels(term: str, extra: int) -> Labels:
    """Return the labels of a term; the axes of an ellipsis are numbered from the last, so that they broadcast."""
    before, dots, after = term.partition("...")
    return (*before, *(range(-extra, 0) if dots else ()), *after)


def _implied(labels: Iterable[Labels], widest: int) -> Labels:
    counts = Counter(label for one in labels for label in one if isinstance(label, str))
    return (*range(-widest, 0), *sorted(label for label, count in counts.items() if count == 1))


def _sizes(subscripts: str, operands: Sequence[Operand]) -> dict[Any, int]:
    """Return the size of each label: that of its axes, of which those of size 1 may be repeated."""
    sizes: dict[Any, int] = {}
    for operand in operands:
        for label, size in zip(operand.labels, typeof(operand.array).shape):
            known = sizes.get(label, 1)
            if known != 1 and size not in (1, known):
                name = label if isinstance(label, str) else "..."
                raise ShapeError(
                    f"einsum {subscripts!r}{where()}: the axes of {name!r} have the sizes {known} and {size}. "
                    "Give one label to axes of one size only."
                )
            sizes[label] = size if known == 1 else known
    return sizes


# What is done


def _simple(operand: Operand, sizes: dict[Any, int]) -> Operand:
    """Return an operand where each label stands once, without axes that would have to be repeated."""
    array, labels = operand
    shape = typeof(array).shape
    repeated = [d for d, label in enumerate(labels) if shape[d] == 1 and sizes[label] != 1]
    array = lax.squeeze(array, repeated)
    labels = tuple(label for d, label in enumerate(labels) if d not in repeated)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            one = labels.index(label)
            other = labels.index(label, one + 1)
            array = diagonal(array, 0, one, other)
            labels = (*(x for d, x in enumerate(labels) if d not in (one, other)), label)
    return Operand(array, labels)


def _summed(operand: Operand, needed: set[Any]) -> Operand:
    """Return an operand summed over the labels that nobody needs."""
    axes = [d for d, label in enumerate(operand.labels) if label not in needed]
    if not axes:
        return operand
    is_bool = typeof(operand.array).dtype.kind == "b"
    array = (lax.reduce_or if is_bool else lax.reduce_sum)(operand.array, axes)
    return Operand(array, tuple(label for label in operand.labels if label in needed))


def _joined(x: Operand, y: Operand, needed: set[Any]) -> Operand:
    """Return the product of two operands, summed over the labels of both that nobody needs."""
    shared = [label for label in x.labels if label in y.labels]
    batch = [label for label in shared if label in needed]
    contracted = [label for label in shared if label not in needed]
    if not contracted:
        return _multiplied(x, y)
    array = contract(
        x.array,
        y.array,
        (_axes(x, contracted), _axes(y, contracted)),
        (_axes(x, batch), _axes(y, batch)),
    )
    free = [label for operand in (x, y) for label in operand.labels if label not in shared]
    return Operand(array, (*batch, *free))


def _axes(operand: Operand, labels: Iterable[Any]) -> list[int]:
    return [operand.labels.index(label) for label in labels]


def _multiplied(x: Operand, y: Operand) -> Operand:
    labels = (*x.labels, *(label for label in y.labels if label not in x.labels))
    left, right = _aligned(x, labels), _aligned(y, labels)
    is_bool = typeof(left).dtype.kind == "b" and typeof(right).dtype.kind == "b"
    return Operand((lax.bitwise_and if is_bool else lax.mul)(left, right), labels)


def _aligned(operand: Operand, labels: Labels) -> Value:
    """Return the array with its axes in the order of `labels`, and axes of size 1 for those it does not have."""
    present = [label for label in labels if label in operand.labels]
    array = lax.transpose(operand.array, _axes(operand, present))
    return lax.expand_dims(array, [d for d, label in enumerate(labels) if label not in operand.labels])
