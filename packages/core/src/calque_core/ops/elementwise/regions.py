"""Formulas for ranges of numbers: an array is evaluated by the formulas of the ranges that occur in it.

One idea: the formula of a special function computes all its branches for all elements.  A formula for one range alone
needs a few operations, and most arrays lie in one range.  Its code computes in double precision, and is one for a
number, as Python's floats, and for arrays.  Two functions of one operand, such as a function and its derivative, are
one code, which computes their common terms once.

Read next: `pieces.py`, the tables that such formulas read; `approximate.py`, which evaluates elements of no range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core.context import DEFAULT_SETTINGS, entered
from calque_core.epoch import forget_with_rules
from calque_core.known.run import StraightLine
from calque_core.ops.elementwise.number_code import OfNumbers, code_of_numbers, on_numbers
from calque_core.passes.equal_equations import merge_equal_equations
from calque_core.record import Record
from calque_core.staging.stage import stage
from calque_core.traces.trace import evaluation
from calque_core.types.avals import shaped_array

Value = Any
Array = np.ndarray[Any, np.dtype[Any]]
Formula = Callable[..., Value]

BLOCK = 8192  # elements: their coefficients stay in the processor's cache; with half of them it takes a quarter longer
MOST_NUMBERS = 16  # elements that Python's floats take in less time
_DOUBLE = np.dtype("float64")


class Region(Record):
    """Formulas of functions for lowest <= x <= highest, in double precision."""

    lowest: float
    highest: float
    formulas: tuple[Formula, ...]
    lowest_bits: int
    highest_bits: int


def region(lowest: float, highest: float, *formulas: Formula) -> Region:
    """Return a region of numbers from 0.0 on, with a formula for each function.

    >>> from calque_core.engine import region
    >>> region(0.0, 2.0, abs).highest
    2.0
    """
    bits = np.array([lowest, highest]).view(np.uint64)
    return Region(lowest, highest, formulas, *bits.tolist())


def even(out: Value, x: Value) -> Value:
    """Return f(x) from f(|x|) of a function that is equal for x and -x.

    >>> from calque_core.engine import even
    >>> even(9.0, -3.0)
    9.0
    """
    return out


def odd(out: Value, x: Value) -> Value:
    """Return f(x) from f(|x|) of a function that changes its sign with x.

    >>> from calque_core.engine import odd
    >>> odd(27.0, -3.0)
    np.float64(-27.0)
    """
    return np.copysign(out, x)


class Regions(Record):
    """Functions of one operand: the regions that have formulas, and the functions of other elements.

    Where there are `mirrors`, regions have formulas of |x|, and each function is `mirror(formula(|x|), x)`.

    >>> import numpy as np
    >>> from calque_core import lax
    >>> from calque_core.engine import Regions, declare_formula, odd, region
    >>> cube = lambda x: lax.mul(x, lax.square(x))
    >>> cube_p = declare_formula("cube", cube, regions={(): Regions([region(0.0, np.inf, cube)], [odd])})
    >>> cube_p.bind(np.array([2.0, -3.0]))
    array([  8., -27.])
    """

    regions: Sequence[Region]
    mirrors: Sequence[Callable[[Value, Value], Value]] = ()
    elsewhere: Sequence[Formula] = ()

    def beside(self, other: Regions) -> Regions:
        """Return the functions of both, with the formulas of regions that both have."""
        pairs = zip(self.regions, other.regions, strict=True)
        regions = [
            region(max(a.lowest, b.lowest), min(a.highest, b.highest), *a.formulas, *b.formulas) for a, b in pairs
        ]
        return Regions(regions, [*self.mirrors, *other.mirrors], [*self.elsewhere, *other.elsewhere])

    def of_numbers(self, x: Value, dtype: np.dtype[Any]) -> Value:
        """Return the values of the only function for a few numbers.

        Raises: ArithmeticError or ValueError where Python's floats have no value, or a number lies in no region.
        """
        return on_numbers(self._of_number, [x], dtype)

    def _of_number(self, number: float) -> float:
        operand = abs(number) if self.mirrors else number
        for region in self.regions:
            if region.lowest <= operand <= region.highest:
                out = _number_code_of(region)(operand)
                return float(self.mirrors[0](out, number)) if self.mirrors else out
        raise ValueError(number)

    def of_array(self, x: Value, dtype: np.dtype[Any]) -> list[Value]:
        """Return the values of each function, new arrays; of large arrays block by block."""
        flat = x if x.ndim == 1 else x.reshape(-1)
        if x.size <= BLOCK:
            outs = self._of_block(flat, dtype)
        else:
            outs = [np.empty(x.size, dtype) for _ in self.elsewhere]
            for start in range(0, x.size, BLOCK):
                part = slice(start, start + BLOCK)
                for total, out in zip(outs, self._of_block(flat[part], dtype)):
                    total[part] = out
        return outs if x.ndim == 1 else [out.reshape(x.shape)[()] for out in outs]

    def _of_block(self, x: Array, dtype: np.dtype[Any]) -> list[Array]:
        wide = x if x.dtype is _DOUBLE else x.astype(_DOUBLE)
        operand = np.abs(wide) if self.mirrors else wide
        if (whole := self._region_of(operand)) is not None:
            outs = self._of_region(whole, operand, wide)
            return outs if dtype is _DOUBLE else [out.astype(dtype) for out in outs]
        totals, is_left = [np.empty(x.size, dtype) for _ in self.elsewhere], np.ones(x.size, bool)
        for region in self.regions:
            places = np.flatnonzero((region.lowest <= operand) & (operand <= region.highest))
            if places.size:
                for total, out in zip(totals, self._of_region(region, operand.take(places), wide.take(places))):
                    total[places] = out
                is_left[places] = False
        outside = np.flatnonzero(is_left)
        if outside.size:
            for total, function in zip(totals, self.elsewhere):
                total[outside] = function(x.take(outside).astype(dtype, copy=False))
        return totals

    def _of_region(self, region: Region, operand: Array, x: Array) -> list[Array]:
        outs = _code_of(region)(operand)
        return [mirror(out, x) for mirror, out in zip(self.mirrors, outs)] if self.mirrors else outs

    def _region_of(self, x: Array) -> Region | None:
        """Return the region in which all elements lie, if there is one."""
        if not x.size:
            return self.regions[0]
        bits = x.view(np.uint64)  # in the order of positive numbers; negative numbers and nan are greater
        highest = bits.item(bits.argmax())  # a quarter of the time that `max` takes
        for region in self.regions:
            if highest <= region.highest_bits:
                is_inside = not region.lowest_bits or bits.item(bits.argmin()) >= region.lowest_bits
                return region if is_inside else None
        return None


_codes: dict[Region, Callable[[Array], list[Array]]] = {}
_number_codes: dict[Region, OfNumbers] = {}


@forget_with_rules
def _forget_codes() -> None:
    _codes.clear()
    _number_codes.clear()


def _program_of(region: Region) -> Any:
    with entered(evaluation, settings=DEFAULT_SETTINGS):
        program = stage(lambda x: [formula(x) for formula in region.formulas], [shaped_array((2,), _DOUBLE)])
        return merge_equal_equations(program)


def _code_of(region: Region) -> Callable[[Array], list[Array]]:
    if (function := _codes.get(region)) is None:
        program, code = _program_of(region), StraightLine()
        arguments = code.arguments(program.invars)
        function = _codes[region] = code.function(arguments, f"[{', '.join(code.results(program))}]")
    return function


def _number_code_of(region: Region) -> OfNumbers:
    if (function := _number_codes.get(region)) is None:
        function = code_of_numbers(_program_of(region))
        assert function is not None, region
        _number_codes[region] = function
    return function
