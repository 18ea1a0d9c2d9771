"""Functions that are formulas in other operations.

One idea: NumPy and XLA have no function of equal accuracy, so `declare_formula` makes the formula the decomposition of
its primitive: both evaluators run the same operations, and agree up to the last bits of these.

XLA rewrites (x + a) + b as x + (a + b) for constants, and exp(x) exp(y) as exp(x + y): formulas avoid such pairs.

Read next: `special.py`; the package calque_special, whose functions are such formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import nan, prod
from types import MappingProxyType
from typing import Any

import numpy as np

from calque_core.context import entered, here
from calque_core.known.programs import code_of
from calque_core.known.run import def_joint_evaluation, is_straight
from calque_core.known.sizes import acts_by_element, common_shape
from calque_core.known.table import KnownOperations
from calque_core.ops.convert import convert_element_type
from calque_core.ops.declare import FLOAT, elementwise
from calque_core.ops.number_code import OfNumbers, code_of_numbers, on_numbers
from calque_core.ops.regions import MOST_NUMBERS, Regions
from calque_core.passes.equal_equations import merge_equal_equations
from calque_core.primitives.primitive import Primitive
from calque_core.record import Record
from calque_core.staging.stage import stage
from calque_core.traces.trace import evaluation
from calque_core.types.avals import Shape, ShapedArray, typeof

Value = Any
Formula = Callable[..., Value]

_SINGLE = np.dtype("float32")


def declare_formula(
    name: str,
    formula: Formula,
    kinds: str = FLOAT,
    of_numbers: OfNumbers | None = None,
    regions: Mapping[tuple[float, ...], Regions] = MappingProxyType({}),
) -> Primitive:
    """Return a new elementwise primitive of floats that is `formula` of its operands, in at least single precision.

    `kinds` are the kinds of dtypes that it takes, as NumPy writes them: "f" are floats, "c" complex numbers.
    `of_numbers` is the same function of Python's floats, if C has it: small arrays take it.
    `regions` have formulas of the last operand, for evaluation alone, which serve parts of the real numbers in fewer
    operations.  Their keys are the operands before it, each of one number.
    Evaluation ignores NumPy's warnings, and checks the result alone for nan: a formula computes all its branches, and
    chooses afterwards.
    """
    primitive = Primitive(name)
    primitive.is_elementwise = True
    primitive.def_abstract_eval(elementwise(name, kinds), cached=True)

    def decomposition(*args: Value) -> Value:
        dtype = typeof(args[0]).dtype
        if dtype.itemsize >= _SINGLE.itemsize:
            return formula(*args)
        return convert_element_type(formula(*(convert_element_type(x, _SINGLE) for x in args)), dtype)

    def impl(*args: Value) -> Value:
        avals = list(map(typeof, args))
        if any([aval.weak_type for aval in avals]):  # noqa: C419  (a list: half of the time)
            args = tuple([aval.dtype.type(x) if aval.weak_type else x for x, aval in zip(args, avals)])
            avals = [aval.strip_weak_type() for aval in avals]
        if of_numbers is not None and max([x.size for x in args]) <= _MOST_FOR_C:
            return on_numbers(of_numbers, args, avals[0].dtype)
        with np.errstate(all="ignore"):
            functions = _regions_of(primitive, args) if regions else None
            return run(*args) if functions is None else _by_regions(functions, args[-1], avals[0].dtype)

    def run(*args: Value) -> Value:
        avals = list(map(typeof, args))
        code = _codes.find([primitive, *avals], decomposition, avals)
        return _evaluated(decomposition, args) if code is None else code.run(args)

    primitive.def_impl(impl, leaf=True, makes_arrays=True)
    primitive.def_rule("decomposition", decomposition)
    for leading, formulas in regions.items():
        numbers = [np.float64(x) for x in leading]
        elsewhere = [lambda x, numbers=numbers: run(*[n.astype(x.dtype) for n in numbers], x)]
        _regions[primitive, *leading] = formulas._replace(elsewhere=elsewhere)
    return primitive


_regions: dict[Any, Regions] = {}  # by primitive and numbers before the last operand


def _regions_of(primitive: Primitive, args: Sequence[Value]) -> Regions | None:
    """Return the functions of the last operand, if the operands before it are numbers, or arrays of one number each."""
    *leading, last = args
    if any([len(x.shape) > len(last.shape) for x in leading]):  # noqa: C419  (a list: half of the time)
        return None
    return _regions.get((primitive, *map(_number_of, leading)))


def _number_of(x: Value) -> float | None:
    if not x.shape:
        return float(x)
    first = x.item(0) if x.size else nan
    return first if (x == first).all() else None


def _by_regions(functions: Regions, x: Value, dtype: np.dtype[Any]) -> Value:
    if x.size <= MOST_NUMBERS:
        with suppress(ArithmeticError, ValueError):
            return functions.of_numbers(x, dtype)
    return functions.of_array(x, dtype)[0]


def evaluate_together(function: Primitive, slope: Primitive) -> None:
    """Let code that needs a function and its derivative evaluate both at once; they have formulas for like regions."""
    both = _regions[function,].beside(_regions[slope,])._replace(elsewhere=[function.impl, slope.impl])

    def evaluate(x: Value) -> Sequence[Value]:
        if x.size <= MOST_NUMBERS:
            return [function.impl(x), slope.impl(x)]
        with np.errstate(all="ignore"):
            return both.of_array(x, x.dtype)

    def_joint_evaluation(function, slope, evaluate)


def _evaluated(formula: Formula, args: Sequence[Value]) -> Value:
    """Return the value of a formula, operation by operation; only the result is checked for nan and infinity."""
    settings = here().settings._replace(debug_nans=False, debug_infs=False)
    with entered(evaluation, settings=None if settings == here().settings else settings):
        return formula(*args)


# Formulas as code


class _Code(Record):
    """A formula as code, for arrays of all shapes if each operation acts on each element alone."""

    function: Callable[..., Value]
    dtype: np.dtype[Any]
    is_by_element: bool
    of_numbers: OfNumbers | None

    def run(self, args: Sequence[Value]) -> Value:
        """Return the results; of large arrays block by block, since a block stays in the processor's cache."""
        if not self.is_by_element:
            with entered(evaluation):  # its loops and branches bind operations
                return self.function(*args)
        if self.of_numbers is not None and max([x.size for x in args]) <= MOST_NUMBERS:
            with suppress(ArithmeticError, ValueError):
                return on_numbers(self.of_numbers, args, self.dtype)
        shapes = [x.shape for x in args if x.shape]
        if not shapes or prod(shapes[0]) <= _BLOCK:
            return self.function(*args)
        out = np.empty(prod(shapes[0]), self.dtype)
        flat = [x.reshape(-1) if x.shape else x for x in args]
        for start in range(0, out.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            out[part] = self.function(*[x[part] if x.shape else x for x in flat])
        return out.reshape(shapes[0])


_BLOCK = 4096  # elements
_MOST_FOR_C = 256  # elements that C's function of Python's floats takes in less time


def _code_of(formula: Formula, avals: Sequence[ShapedArray]) -> _Code | None:
    """Return the code of a formula for operands of these types; None if it has none."""
    with entered(evaluation):
        program = merge_equal_equations(stage(lambda *xs: [formula(*xs)], avals))
        code = code_of(program)
    if code is None:
        return None
    shape = common_shape(avals)
    is_by_element = is_straight(program) and (shape is None or acts_by_element(program, shape))
    of_numbers = code_of_numbers(program) if is_by_element else None
    return _Code(lambda *xs: code(*xs)[0], program.outvars[0].aval.dtype, is_by_element, of_numbers)


def _in_all_shapes(code: _Code, *_: Any) -> Callable[[Shape], _Code] | None:
    return (lambda _: code) if code.is_by_element else None


_codes = KnownOperations(_code_of, _in_all_shapes, meetings=24)  # to make code takes as long as these runs


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Return the sum of c_k x**k by Horner's rule."""
    total: Value = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * x + c  # operators: three times faster than functions for arrays of NumPy
    return total
