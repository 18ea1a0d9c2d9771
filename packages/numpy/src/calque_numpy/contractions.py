"""`einsum`: products and sums by named axes.

One idea: an operand is an array and one label per axis.  Operands are multiplied from left to right; a label of both
operands is a batch axis if the result or a later operand has it, otherwise it is summed at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_core import NumpyRuleError, ShapeError, implements, lax, typeof
from calque_core.extend import describe_value, where
from calque_core.extend.numpy_functions import promoted_dtype, refuse
from calque_core.lax import PrecisionLike
from calque_numpy.creation import asarray
from calque_numpy.matrices import diagonal
from calque_numpy.products import Options, contract

Value = Any
Labels = tuple[Any, ...]  # a letter, or an integer for an axis of the ellipsis


class Operand(NamedTuple):
    """An array, and the label of each axis."""

    array: Value
    labels: Labels


@implements(np.einsum)
def einsum(
    subscripts: str,
    /,
    *operands: Value,
    out: None = None,
    optimize: Any = False,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    **options: Any,
) -> Value:
    """Return the products of the operands' elements, summed over the labels that the result lacks.

    Without '->', the result has the labels that occur once, in alphabetical order.  '...' stands for any number of
    axes, which broadcast.  `optimize` changes nothing: operands are multiplied from left to right.
    Dtype: promoted, or `preferred_element_type`, and kept by sums; `precision` is that of `lax.dot_general`.
    Raises: ValueError if `subscripts` does not fit the operands; ShapeError if axes of one label differ in size;
    TypeError for options that concern only arrays in memory.

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
    labelled, result = _parse(subscripts, [asarray(x, dtype) for x in operands])
    sizes = _sizes(subscripts, labelled)
    product, *factors = [_simple(operand, sizes) for operand in labelled]
    for position, factor in enumerate(factors, 1):
        needed = {*result, *(label for later in factors[position:] for label in later.labels)}
        left, right = _sum_out(product, {*needed, *factor.labels}), _sum_out(factor, {*needed, *product.labels})
        product = _contract(left, right, needed, (precision, preferred_element_type))
    summed = _sum_out(product, set(result))
    out = lax.transpose(summed.array, [summed.labels.index(label) for label in result])
    return out if preferred_element_type is None else lax.convert_element_type(out, preferred_element_type)


# Subscripts


def _parse(subscripts: str, arrays: Sequence[Value]) -> tuple[list[Operand], Labels]:
    """Return the operands with their labels, and the labels of the result."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(arrays):
        raise _subscripts_error(
            subscripts, (f"the subscripts describe {len(terms)} operands, but {len(arrays)} were passed")
        )
    for term in (*terms, output):
        if not all(letter.isalpha() for letter in term.replace("...", "", 1)):
            raise _subscripts_error(subscripts, f"{term!r} may hold only letters and one '...'")
    ndims = [typeof(x).ndim - len(term.replace("...", "")) for term, x in zip(terms, arrays)]
    for term, x, extra in zip(terms, arrays, ndims):
        if extra < 0 or (extra and "..." not in term):
            raise _subscripts_error(subscripts, f"{term!r} does not name the axes of an operand of type {typeof(x)}")
    labels = [_labels(term, extra) for term, extra in zip(terms, ndims)]
    max_extra = max(extra for term, extra in zip(terms, ndims))
    result = _labels(output, max_extra) if arrow else _implied_result(labels, max_extra)
    unknown = [label for label in result if not any(label in one for one in labels)]
    if unknown or len(set(result)) != len(result) or (max_extra and arrow and "..." not in output):
        raise _subscripts_error(
            subscripts, "the result must name labels of the operands, each once, and '...' if an operand has it"
        )
    return [Operand(x, one) for x, one in zip(arrays, labels)], result


def _subscripts_error(subscripts: str, problem: str) -> ValueError:
    return ValueError(f"einsum {subscripts!r}{where()}: {problem}. Write one label per axis, as in 'ij,jk->ik'.")


def _labels(term: str, extra: int) -> Labels:
    """Return the labels of a term; the axes of an ellipsis are numbered from the last, so they broadcast."""
    before, dots, after = term.partition("...")
    return (*before, *(range(-extra, 0) if dots else ()), *after)


def _implied_result(labels: Iterable[Labels], max_extra: int) -> Labels:
    counts = Counter(label for one in labels for label in one if isinstance(label, str))
    return (*range(-max_extra, 0), *sorted(label for label, count in counts.items() if count == 1))


def _sizes(subscripts: str, operands: Sequence[Operand]) -> dict[Any, int]:
    """Return the size of each label: the size of its axes, except axes of size 1, which broadcast."""
    sizes: dict[Any, int] = {}
    for operand in operands:
        for label, size in zip(operand.labels, typeof(operand.array).shape):
            known = sizes.get(label, 1)
            if known != 1 and size not in (1, known):
                name = label if isinstance(label, str) else "..."
                raise ShapeError(
                    f"einsum {subscripts!r}{where()}: the axes of {name!r} have the sizes {known} and {size}. Use one "
                    "label for axes of equal size only."
                )
            sizes[label] = size if known == 1 else known
    return sizes


# Operations


def _simple(operand: Operand, sizes: dict[Any, int]) -> Operand:
    """Return an operand with each label once, without the axes of size 1 that broadcast."""
    array, labels = operand
    shape = typeof(array).shape
    broadcast = [d for d, label in enumerate(labels) if shape[d] == 1 and sizes[label] != 1]
    array = lax.squeeze(array, broadcast)
    labels = tuple(label for d, label in enumerate(labels) if d not in broadcast)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            array = diagonal(array, 0, first, second)
            labels = (*(x for d, x in enumerate(labels) if d not in (first, second)), label)
    return Operand(array, labels)


def _sum_out(operand: Operand, needed: set[Any]) -> Operand:
    """Return an operand summed over the labels that are not needed."""
    axes = [d for d, label in enumerate(operand.labels) if label not in needed]
    if not axes:
        return operand
    is_bool = typeof(operand.array).kind == "b"
    array = (lax.reduce_or if is_bool else lax.reduce_sum)(operand.array, axes)
    return Operand(array, tuple(label for label in operand.labels if label in needed))


def _contract(x: Operand, y: Operand, needed: set[Any], options: Options) -> Operand:
    """Return the product of two operands, summed over their common labels that are not needed."""
    shared = [label for label in x.labels if label in y.labels]
    batch = [label for label in shared if label in needed]
    contracted = [label for label in shared if label not in needed]
    if not contracted:
        return _multiply(x, y)
    array = contract(
        x.array,
        y.array,
        (_axes(x, contracted), _axes(y, contracted)),
        options,
        (_axes(x, batch), _axes(y, batch)),
    )
    free = [label for operand in (x, y) for label in operand.labels if label not in shared]
    return Operand(array, (*batch, *free))


def _axes(operand: Operand, labels: Iterable[Any]) -> list[int]:
    return [operand.labels.index(label) for label in labels]


def _multiply(x: Operand, y: Operand) -> Operand:
    labels = (*x.labels, *(label for label in y.labels if label not in x.labels))
    left, right = _align(x, labels), _align(y, labels)
    is_bool = typeof(left).kind == "b" and typeof(right).kind == "b"
    return Operand((lax.bitwise_and if is_bool else lax.mul)(left, right), labels)


def _align(operand: Operand, labels: Labels) -> Value:
    """Return the array with its axes in the order of `labels`, and an axis of size 1 for each missing label."""
    present = [label for label in labels if label in operand.labels]
    array = lax.transpose(operand.array, _axes(operand, present))
    return lax.expand_dims(array, [d for d, label in enumerate(labels) if label not in operand.labels])
