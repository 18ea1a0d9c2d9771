"""The layouts of the operands and of the result of a convolution: which axis is the batch, which the features.

One idea: however the user writes a layout, as three words or as positions of axes, it becomes `ConvDimensionNumbers`,
where the spatial axes of both operands and of the result stand in one order, that of the kernel's word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from calque_core import ShapeError
from calque_core.engine.numpy_functions import integers
from calque_core.extend import Shape, where


class ConvDimensionNumbers(NamedTuple):
    """The positions of axes in the operands and in the result of a convolution.

    `lhs_spec` and `out_spec` are (batch, features, *spatial), `rhs_spec` is (out features, in features, *spatial).
    """

    lhs_spec: Shape
    rhs_spec: Shape
    out_spec: Shape


ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None

_NAME = "conv_dimension_numbers"
_LETTERS = ("NC", "OI", "NC")  # of the axes that are not spatial, in the three layouts


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: ConvGeneralDilatedDimensionNumbers
) -> ConvDimensionNumbers:
    """Return the layout of a convolution of arrays of these shapes in its canonical form.

    `dimension_numbers` has one word for the left operand, one for the kernel and one for the result, with a letter per
    axis: N is the batch, C the features, I and O are the kernel's features of the operand and of the result; all other
    letters are spatial axes.  None means ("NCHW", "OIHW", "NCHW") for two spatial axes, and so on.
    Raises: ShapeError if the shapes have different numbers of axes, or fewer than 2; ValueError for words with other
    letters or lengths, or for positions that are no permutation; TypeError for anything else.

    >>> from calque_signal import conv_dimension_numbers
    >>> conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 5), ("NHWC", "HWIO", "NHWC"))
    ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    lhs_shape, rhs_shape = tuple(lhs_shape), tuple(rhs_shape)
    ndim = len(lhs_shape)
    if len(rhs_shape) != ndim or ndim < 2:
        raise ShapeError(
            f"{_NAME} of {lhs_shape} and {rhs_shape}{where()}: the operands of a convolution have {ndim} and "
            f"{len(rhs_shape)} axes. Give both the same number: one axis for the batch, one for the features, and the "
            "spatial axes."
        )
    if dimension_numbers is None:
        return ConvDimensionNumbers(*[tuple(range(ndim))] * 3)
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return _checked_positions(dimension_numbers, ndim)
    words = _checked_words(dimension_numbers, ndim)
    spatial = [letter for letter in words[1] if letter not in "OI"]
    return ConvDimensionNumbers(
        *(tuple(word.index(letter) for letter in (*letters, *spatial)) for word, letters in zip(words, _LETTERS))
    )


def _checked_positions(numbers: ConvDimensionNumbers, ndim: int) -> ConvDimensionNumbers:
    numbers = ConvDimensionNumbers(*(integers(_NAME, field, axes) for field, axes in zip(numbers._fields, numbers)))
    for field, spec in zip(numbers._fields, numbers):
        if sorted(spec) != [*range(ndim)]:
            raise ValueError(f"{_NAME}{where()}: {field} is {spec}. Give each axis from 0 to {ndim - 1} once.")
    return numbers


def _checked_words(words: Any, ndim: int) -> tuple[str, str, str]:
    if not isinstance(words, (tuple, list)) or len(words) != 3 or not all(isinstance(word, str) for word in words):
        raise TypeError(
            f"{_NAME}{where()}: dimension_numbers is {words!r}. Give three words such as ('NCHW', 'OIHW', 'NCHW'), "
            "ConvDimensionNumbers(...), or None."
        )
    for word, letters in zip(words, _LETTERS):
        if len(word) != ndim or len(set(word)) != ndim or not set(letters) <= set(word):
            raise ValueError(
                f"{_NAME}{where()}: dimension_numbers is {tuple(words)!r}, where {word!r} is no layout of {ndim} axes. "
                f"Give {ndim} different letters with {letters[0]!r} and {letters[1]!r} among them."
            )
    spatial = [set(word) - set(letters) for word, letters in zip(words, _LETTERS)]
    if not spatial[0] == spatial[1] == spatial[2]:
        raise ValueError(
            f"{_NAME}{where()}: dimension_numbers is {tuple(words)!r}, and its words have different spatial letters. "
            "Name each spatial axis by one letter in all three."
        )
    lhs, rhs, out = words
    return lhs, rhs, out


def layout_text(numbers: ConvDimensionNumbers) -> str:
    """Return a layout as words, where digits are spatial axes.

    >>> layout_text(ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2)))
    'N01C,01IO->N01C'
    """
    lhs, rhs, out = (
        "".join(f"{letters}{''.join(map(str, range(len(spec) - 2)))}"[spec.index(axis)] for axis in range(len(spec)))
        for spec, letters in zip(numbers, _LETTERS)
    )
    return f"{lhs},{rhs}->{out}"


def sizes_of(shape: Shape, axes: Shape) -> Shape:
    """Return the sizes of some axes.

    >>> sizes_of((4, 5, 6), (2, 0))
    (6, 4)
    """
    return tuple(shape[axis] for axis in axes)
