"""`einsum`: products and sums by named axes.

One idea: an operand is an array and one label per axis.  Operands are multiplied in pairs, in an order that keeps
products small; a label of both operands is a batch axis if the result or another operand has it, otherwise it is summed
at once.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from calque_core import NumpyRuleError, ShapedArray, ShapeError, implements, lax, typeof
from calque_core.engine import describe_value
from calque_core.engine.numpy_functions import promoted_dtype, refuse
from calque_core.extend import Shape, in_every_size, types_decide, where
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
@types_decide
@in_every_size("code")
def einsum(
    subscripts: Any,
    /,
    *operands: Value,
    out: None = None,
    optimize: Any = "greedy",
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    **options: Any,
) -> Value:
    """Return the products of the operands' elements, summed over the labels that the result lacks.

    Without '->', the result has the labels that occur once, in alphabetical order.  '...' stands for any number of
    axes, which broadcast.  In place of a string, each operand may be followed by a list of its labels, integers from 0
    to 51 and Ellipsis, and the last operand also by the list of the result.
    Three operands or more are multiplied in pairs, in the order that `numpy.einsum_path` finds by `optimize`: "greedy"
    (or True), "optimal", a path, or from left to right for False.
    Dtype: promoted, or `preferred_element_type`, and kept by sums; `precision` is that of `lax.dot_general`.
    Raises: ValueError if `subscripts` does not fit the operands, or for another `optimize`; ShapeError if axes of one
    label differ in size; TypeError for options that concern only arrays in memory.

    >>> import numpy as np
    >>> from calque_numpy import einsum
    >>> einsum("ij,jk->ik", np.ones((2, 3)), np.ones((3, 4))).shape
    (2, 4)
    >>> einsum("ii", np.array([[1, 2], [3, 4]]))
    np.int64(5)
    """
    refuse("einsum", out=out, **options)
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists((subscripts, *operands))
    if not _LISTS.isdisjoint(map(type, operands)):
        operands = tuple(asarray(x) if type(x) in _LISTS else x for x in operands)
    dtype = promoted_dtype("einsum", *operands) if operands else None
    arrays = [asarray(x, dtype) for x in operands]
    labels, result, sizes = _parse(subscripts, tuple(map(typeof, arrays)))
    factors = [_simple(Operand(x, own), sizes) for x, own in zip(arrays, labels)]
    path = _path(subscripts, factors, result, optimize) if len(factors) > 2 and optimize is not False else ()
    for group in path:
        chosen = [factors.pop(position) for position in sorted(group, reverse=True)]
        needed = {*result, *(label for factor in factors for label in factor.labels)}
        factors.append(_product(chosen[::-1], needed, (precision, preferred_element_type)))
    product = factors[0] if path else _product(factors, {*result}, (precision, preferred_element_type))
    out = lax.transpose(product.array, [product.labels.index(label) for label in result])
    return out if preferred_element_type is None else lax.convert_element_type(out, preferred_element_type)


@implements(np.einsum_path)
def einsum_path(*operands: Value, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """Return the order in which `einsum` multiplies its operands, and a text about its cost; as `numpy.einsum_path`.

    It depends on shapes alone, so operands may be traced.
    Raises: NumpyRuleError for subscripts that are neither a string nor lists of labels.

    >>> import numpy as np
    >>> from calque_numpy import einsum_path
    >>> einsum_path("ij,jk,k", np.ones((5, 5)), np.ones((5, 5)), np.ones(5))[0]
    ['einsum_path', (1, 2), (0, 1)]
    """
    if not isinstance(operands[0], str):
        _from_lists(operands)  # refuses an array in the place of labels, which NumPy's function would hand back
    arrays = range(1, len(operands)) if isinstance(operands[0], str) else range(0, len(operands) - 1, 2)
    shapes_alone = [_shape_alone(typeof(asarray(x)).shape) if i in arrays else x for i, x in enumerate(operands)]
    return np.einsum_path(*shapes_alone, optimize=optimize, einsum_call=einsum_call)  # type: ignore[arg-type]


def _shape_alone(shape: Sequence[int]) -> Value:
    """Return an array of this shape that has one element in memory."""
    return np.broadcast_to(np.zeros(()), shape)


# The order of the products


def _path(subscripts: str, factors: Sequence[Operand], result: Labels, optimize: Any) -> Sequence[Sequence[int]]:
    """Return the positions of the factors that are multiplied, step by step; a product is put behind the other factors.

    Raises: ValueError for an `optimize` that NumPy does not know.
    """
    find = _found_path.__wrapped__  # a path has no hash
    if optimize is True or isinstance(optimize, str):  # NumPy's own limit is the largest operand
        find, optimize = _found_path, ("greedy" if optimize is True else optimize, _NO_LIMIT)
    names = dict(zip(dict.fromkeys(label for factor in factors for label in factor.labels), _LETTERS))
    terms = ("".join(names[label] for label in labels) for labels in (*(factor.labels for factor in factors), result))
    *inputs, output = terms
    shapes = tuple(typeof(factor.array).shape for factor in factors)
    try:
        return find(f"{','.join(inputs)}->{output}", shapes, optimize)
    except (IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"einsum {subscripts!r}{where()}: optimize is {optimize!r}. Use True, False, 'greedy', 'optimal', or the "
            "first result of numpy.einsum_path."
        ) from error


@lru_cache(maxsize=1024)
def _found_path(terms: str, shapes: tuple[Shape, ...], optimize: Any) -> Sequence[Sequence[int]]:
    """Return the path that NumPy finds, or one that was passed to it, checked."""
    path = np.einsum_path(terms, *map(_shape_alone, shapes), optimize=optimize)[0][1:]
    _check_path(path, len(shapes))
    return path


def _check_path(path: Sequence[Sequence[int]], count: int) -> None:
    for group in path:
        if not group or not all(0 <= position < count for position in group):
            raise ValueError(f"the step {group} of the path has {count} operands")
        count -= len(group) - 1
    if count != 1:
        raise ValueError(f"{count} operands are left at the end of the path")


_LISTS = frozenset((list, tuple))
_LETTERS = string.ascii_letters
_NO_LIMIT = 2**62


def _product(factors: Sequence[Operand], needed: set[Any], options: Options) -> Operand:
    """Return the product of factors, from left to right, summed over the labels that are not needed."""
    product, *others = factors
    for position, factor in enumerate(others, 1):
        kept = {*needed, *(label for later in others[position:] for label in later.labels)}
        left, right = _sum_out(product, {*kept, *factor.labels}), _sum_out(factor, {*kept, *product.labels})
        product = _contract(left, right, kept, options)
    return _sum_out(product, needed)


# Subscripts


def _from_lists(arguments: Sequence[Any]) -> tuple[str, tuple[Value, ...]]:
    """Return the subscripts and the operands for operands that are followed by lists of labels.

    Raises: NumpyRuleError unless the labels are integers from 0 to 51 and Ellipsis.
    """
    pairs = len(arguments) // 2
    lists = [*arguments[1 : 2 * pairs : 2], *arguments[2 * pairs :]]
    terms = [_term(labels) for labels in lists]
    arrow = "->" if len(terms) > pairs else ""
    return ",".join(terms[:pairs]) + arrow + "".join(terms[pairs:]), tuple(arguments[0 : 2 * pairs : 2])


_BY_NUMBER = string.ascii_uppercase + string.ascii_lowercase  # so that alphabetical order is that of the numbers


def _term(labels: Any) -> str:
    is_sequence = isinstance(labels, (list, tuple)) or (isinstance(labels, np.ndarray) and labels.ndim == 1)
    if not is_sequence or not all(x is Ellipsis or (isinstance(x, (int, np.integer)) and 0 <= x < 52) for x in labels):
        kind = describe_value(labels)
        raise NumpyRuleError(
            f"einsum{where()}: the subscripts are {kind}. Give a string such as 'ij,jk->ik', or after each operand a "
            "list of labels, which are integers from 0 to 51."
        )
    return "".join("..." if x is Ellipsis else _BY_NUMBER[x] for x in labels)


@lru_cache(maxsize=1024)
def _parse(subscripts: str, avals: tuple[ShapedArray, ...]) -> tuple[tuple[Labels, ...], Labels, dict[Any, int]]:
    """Return the labels of each operand, the labels of the result, and the size of each label."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(avals):
        raise _subscripts_error(
            subscripts, (f"the subscripts describe {len(terms)} operands, but {len(avals)} were passed")
        )
    for term in (*terms, output):
        if not all(letter.isalpha() for letter in term.replace("...", "", 1)):
            raise _subscripts_error(subscripts, f"{term!r} may hold only letters and one '...'")
    ndims = [aval.ndim - len(term.replace("...", "")) for term, aval in zip(terms, avals)]
    for term, aval, extra in zip(terms, avals, ndims):
        if extra < 0 or (extra and "..." not in term):
            raise _subscripts_error(subscripts, f"{term!r} does not name the axes of an operand of type {aval}")
    labels = tuple(_labels(term, extra) for term, extra in zip(terms, ndims))
    max_extra = max(extra for term, extra in zip(terms, ndims))
    result = _labels(output, max_extra) if arrow else _implied_result(labels, max_extra)
    unknown = [label for label in result if not any(label in one for one in labels)]
    if unknown or len(set(result)) != len(result) or (max_extra and arrow and "..." not in output):
        raise _subscripts_error(
            subscripts, "the result must name labels of the operands, each once, and '...' if an operand has it"
        )
    return labels, result, _sizes(subscripts, labels, [aval.shape for aval in avals])


def _subscripts_error(subscripts: str, problem: str) -> ValueError:
    return ValueError(f"einsum {subscripts!r}{where()}: {problem}. Write one label per axis, as in 'ij,jk->ik'.")


def _labels(term: str, extra: int) -> Labels:
    """Return the labels of a term; the axes of an ellipsis are numbered from the last, so they broadcast."""
    before, dots, after = term.partition("...")
    return (*before, *(range(-extra, 0) if dots else ()), *after)


def _implied_result(labels: Iterable[Labels], max_extra: int) -> Labels:
    counts = Counter(label for one in labels for label in one if isinstance(label, str))
    return (*range(-max_extra, 0), *sorted(label for label, count in counts.items() if count == 1))


def _sizes(subscripts: str, labels: Iterable[Labels], shapes: Iterable[Shape]) -> dict[Any, int]:
    """Return the size of each label: the size of its axes, except axes of size 1, which broadcast."""
    sizes: dict[Any, int] = {}
    for names, shape in zip(labels, shapes):
        own: dict[Any, int] = {}
        for label, size in zip(names, shape):
            if own.setdefault(label, size) != size:  # the axes of a diagonal do not broadcast
                raise _sizes_error(subscripts, label, own[label], size)
            known = sizes.get(label, 1)
            if known != 1 and size not in (1, known):
                raise _sizes_error(subscripts, label, known, size)
            sizes[label] = size if known == 1 else known
    return sizes


def _sizes_error(subscripts: str, label: Any, first: int, second: int) -> ShapeError:
    name = label if isinstance(label, str) else "..."
    return ShapeError(
        f"einsum {subscripts!r}{where()}: the axes of {name!r} have the sizes {first} and {second}. Use one label for "
        "axes of equal size only."
    )


# Operations


def _simple(operand: Operand, sizes: dict[Any, int]) -> Operand:
    """Return an operand with each label once, without the axes of size 1 that broadcast."""
    array, labels = operand
    shape = typeof(array).shape
    if len({*labels}) == len(labels) and tuple(sizes[label] for label in labels) == shape:
        return operand
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
