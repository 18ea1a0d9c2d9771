"""The types of literals in a printed program, which does not show them.

One idea: the digits tell the kind of a number, and of the dtypes of this kind the first is taken with which the type
rule of the primitive gives the types that the equation declares.

Read next: `parsing.py`, which reads the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any

import numpy as np

from calque_core.context import DEFAULT_SETTINGS, entered
from calque_core.jaxprs.jaxpr import Atom, Literal
from calque_core.primitives.primitive import Primitive
from calque_core.record import Record
from calque_core.types.avals import ShapedArray, traced_type, typeof
from calque_core.types.dtypes import kind_of

_USUAL = {
    "b": ("bool",),
    "i": ("int64", "int32", "uint32", "uint8", "int8", "int16", "uint16", "uint64"),
    "f": ("float64", "float32", "float16"),
    "c": ("complex128", "complex64"),
}
_MOST_CHOICES = 4096  # of dtypes for the literals of one equation


class Number(Record):
    """A printed number."""

    text: str

    @property
    def kind(self) -> str:
        """The kind of its dtype: "b", "i", "f" or "c"."""
        if self.text in ("True", "False"):
            return "b"
        if self.text.endswith(("j", "j)")):
            return "c"
        return "i" if self.text.lstrip("+-").isdigit() else "f"

    @property
    def value(self) -> Any:
        """The number as one of Python's.  Raises: ValueError."""
        if self.kind == "b":
            return self.text == "True"
        return {"i": int, "f": float, "c": complex}[self.kind](self.text)

    def literal(self, aval: Any) -> Literal:
        """Return the literal of a type.  Raises: ValueError if the number is none of this type."""
        try:
            return Literal(_scalar(aval.dtype, self.value), aval)
        except (TypeError, OverflowError) as error:
            raise ValueError(f"{self.text} is no number of the type {aval}: {error}. Write another one.") from error


def _scalar(dtype: np.dtype[Any], value: Any) -> np.generic:
    """Return a number as a scalar of a dtype.  Raises: OverflowError for an integer that does not fit."""
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        raise OverflowError(f"it does not fit {dtype}")
    with np.errstate(all="ignore"):  # a float that is too large is infinite
        scalar: np.generic = dtype.type(value)
        return scalar


def default_literal(number: Number) -> Literal:
    """Return the literal of a result, whose type is that of a Python number.  Raises: ValueError if it is too large."""
    with entered(settings=DEFAULT_SETTINGS):
        try:
            return Literal(number.value, typeof(number.value))
        except OverflowError as error:
            raise ValueError(str(error)) from error


def typed_operands(
    primitive: Primitive, operands: Sequence[Any], params: dict[str, Any], out_avals: Sequence[Any]
) -> list[Atom]:
    """Return the operands of an equation with literals in place of numbers.

    Raises: ValueError if the type rule accepts no dtypes of the numbers.
    """
    numbers = [x for x in operands if type(x) is Number]
    if not numbers:
        return list(operands)
    avals = [x.aval for x in operands if type(x) is not Number] + list(out_avals)
    refusal = "it gives other types"
    choices = list(islice(_choices(numbers, avals), _MOST_CHOICES))
    for dtypes in sorted(choices, key=lambda dtypes: not _are_printed_so(numbers, dtypes)):
        remaining = iter(dtypes)
        try:
            atoms = [x.literal(traced_type((), next(remaining))) if type(x) is Number else x for x in operands]
            with entered(settings=DEFAULT_SETTINGS):
                types = primitive.abstract(*[x.aval for x in atoms], **params)
        except Exception as error:  # noqa: BLE001 -- a type rule may refuse by any error
            refusal = str(error).rstrip(".")
            continue
        if [_strong(a) for a in types] == [_strong(a) for a in out_avals]:
            return atoms
    texts = ", ".join(number.text for number in numbers)
    raise ValueError(f"the type rule of '{primitive.name}' accepts no dtype of {texts}: {refusal}. Correct the types.")


def _are_printed_so(numbers: Sequence[Number], dtypes: Sequence[np.dtype[Any]]) -> bool:
    """Tell whether scalars of these dtypes print the digits of the numbers: float32 has fewer than float64."""
    return all(
        number.kind not in "fc" or str(_scalar(dtype, number.value)) == number.text
        for number, dtype in zip(numbers, dtypes)
    )


def _choices(numbers: Sequence[Number], avals: Sequence[Any]) -> Iterator[tuple[np.dtype[Any], ...]]:
    """Yield dtypes for the numbers: those of the equation first, one dtype for all numbers before several."""
    own = [aval.dtype for aval in avals if type(aval) is ShapedArray]
    lists = [_dtypes_of(number.kind, own) for number in numbers]
    for i in range(max(map(len, lists))):
        yield tuple([dtypes[min(i, len(dtypes) - 1)] for dtypes in lists])
    yield from product(*lists)


def _dtypes_of(kind: str, own: Sequence[np.dtype[Any]]) -> list[np.dtype[Any]]:
    kinds = "iu" if kind == "i" else kind
    usual = [np.dtype(name) for name in _USUAL[kind]]
    return list(dict.fromkeys([*(dtype for dtype in own if kind_of(dtype) in kinds), *usual]))


def _strong(aval: Any) -> Any:
    return aval.strip_weak_type() if type(aval) is ShapedArray else aval
