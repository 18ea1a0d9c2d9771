"""Checks of the arguments and results of derivative functions, with their messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calque_autodiff.passes.signs import Negative
from calque_core import MissingRuleError, ShapedArray, Zero, instantiate_zeros, typeof
from calque_core.engine import (
    NOT_LINEAR,
    SCALAR_TYPES,
    JitTracer,
    describe_value,
    dtype_name,
    has_tangent,
    is_array_like,
    is_own,
    lower_avals,
    not_transposed,
    same_type,
    strong,
)
from calque_core.extend import where

Value = Any


def check_input(caller: str, name: str, aval: Any, *, holomorphic: bool, allow_int: bool) -> None:
    """Check that a gradient with respect to an argument of this type exists.

    Raises: TypeError that names the argument.
    """
    if is_own(aval):
        if not has_tangent(aval) and not allow_int:
            raise TypeError(
                f"{caller}: {name} is {aval}, which has no derivative. Close over it, or set allow_int=True."
            )
        return
    kind = aval.kind
    if holomorphic and kind != "c":
        raise TypeError(
            f"{caller} with holomorphic=True: {name} has dtype {dtype_name(aval.dtype)}. Give complex arguments, or "
            "leave holomorphic out."
        )
    if kind == "c" and not holomorphic:
        return
    if kind in "iub" and not allow_int:
        raise TypeError(
            f"{caller}: {name} has dtype {dtype_name(aval.dtype)}, which has no derivative. Pass a float, or set "
            "allow_int=True to get a float0 gradient for it."
        )


def check_linear_inputs(caller: str, names: Sequence[str], avals: Sequence[Any]) -> None:
    """Check that a function can be linear in arguments of these types: all of them floats, or all of them integers.

    Raises: TypeError that names an argument.
    """
    has_float = any(aval.kind in "fc" for aval in avals)
    for name, aval in zip(names, avals):
        if aval.kind not in ("fc" if has_float else "iu"):
            raise TypeError(
                f"{caller}: {name} has dtype {dtype_name(aval.dtype)}, but linear functions take floats, or integers "
                "alone. Pass a float, or close over the argument."
            )


def check_integer_outputs(caller: str, avals: Sequence[Any]) -> None:
    """Check the types of the results of a function that is linear in integers.  Raises: TypeError."""
    for aval in avals:
        if aval.kind not in "iu":
            raise TypeError(
                f"{caller}: the function of integers returned {aval}, but to be linear it must return integers. Pass "
                "floats, or return integers."
            )


def only_argument(caller: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    """Return the only argument of a function of a cotangent.

    Raises: TypeError.
    """
    if len(args) != 1 or kwargs:
        keywords = f" and the keywords {', '.join(kwargs)}" if kwargs else ""
        raise TypeError(
            f"{caller} got {len(args)} arguments{keywords}. Give one argument, the cotangent: a pytree with the "
            "structure of the function's output."
        )
    return args[0]


def check_tangent(primitive: Any, out_aval: Any, x_dot: Value) -> None:
    """Check that the tangent which a derivative rule gave for a result has the type of a tangent of it.

    Raises: TypeError that names the primitive.
    """
    dot_aval = typeof(x_dot) if is_array_like(x_dot) else None
    tangent_aval = out_aval.to_tangent_aval()
    if dot_aval is None or not same_type(dot_aval, tangent_aval):
        raise TypeError(
            f"the derivative rule of '{primitive.name}'{where()} gave the tangent {describe_value(x_dot)} for the "
            f"result {out_aval}. Return a tangent of type {tangent_aval}."
        )


def check_terms(primitive: Any, operands: Sequence[Value]) -> None:
    """Check that no operand of a sum, or of another linear operation, is a known number but zero.

    Raises: MissingRuleError.
    """
    if any(map(_is_known_term, operands)):
        raise not_transposed(primitive, "adds a value that is not zero and depends on no tangent")


def _is_known_term(x: Value) -> bool:
    """Tell whether a value beside tangents is a known number but zero; nan is a product of zero.

    A tracer is not: it may be a zero that a rule was given in place of a tangent.
    """
    return type(x) in _NUMBERS and typeof(x).kind in "fc" and bool(np.any(np.abs(x) > 0))


_NUMBERS = frozenset((np.ndarray, *SCALAR_TYPES))


def check_out_tangents(trace: Any, outs: Sequence[Value], out_dots: Sequence[Value]) -> None:
    """Check that each output has a tangent of its own type: a derivative rule may return another type.

    In a linear program, it may not be a known number but zero, either.  Raises: TypeError.
    """
    for x, x_dot in zip(outs, out_dots):
        if type(x_dot) is not Zero:
            out_aval = typeof(x)
            if type(x_dot) is JitTracer:  # nearly always
                dot_aval = x_dot.aval
            else:
                dot_aval = typeof(x_dot) if is_array_like(x_dot) else None
                if trace.is_linearizing and _is_known_term(x_dot):
                    raise TypeError(
                        f"{trace.describe()}: a derivative rule gave, for an output of type {out_aval}, a tangent that "
                        "depends on no tangent of its operands. Return a linear function of them, or zeros."
                    )
            if dot_aval is out_aval:
                continue
            tangent_aval = out_aval if type(out_aval) is ShapedArray else out_aval.to_tangent_aval()
            if dot_aval is None or not same_type(dot_aval, tangent_aval):
                raise TypeError(
                    f"{trace.describe()}: an output is {out_aval}, but a derivative rule gave the tangent "
                    f"{describe_value(x_dot)}. {_ASK_THE_LAWS}"
                )


def fitting_cotangent(caller: str, ct: Value, aval: Any) -> Value:
    """Return the cotangent of a primal as an array, and check its type: a transpose rule may return another type.

    Raises: TypeError.
    """
    if type(ct) is np.ndarray and ct.shape == aval.shape and ct.dtype is aval.dtype:  # nearly always; 1.5 us sooner
        return ct
    ct = instantiate_zeros(ct)
    ct_aval = typeof(ct) if is_array_like(ct) else None
    if ct_aval is None or not same_type(ct_aval, aval):
        raise TypeError(
            f"{caller}: an argument is {aval}, but a transpose rule gave the cotangent {describe_value(ct)}. "
            f"{_ASK_THE_LAWS}"
        )
    return strong(ct)


def blame_derivative_rule(error: MissingRuleError) -> None:
    """Say, in an error of the transpose of a derivative, that an operation is not linear: a derivative rule has it."""
    if not error.refusal and error.hole != NOT_LINEAR:
        return
    text = f"it {error.refusal}" if error.refusal else error.summary
    message = (
        f"a derivative rule is not linear in its tangents, because of '{error.primitive}'{error.place}: {text}. "
        "Write the rule with operations that are linear in the tangents."
    )
    error.args = (message,)


_ASK_THE_LAWS = "Check the rules of your primitives with calque.testing.check_primitive."


def checked_cotangents(primitive: Any, cts: Any, invars: Sequence[Any], operands: Sequence[Value]) -> list[Value]:
    """Return `cts`, the result of a transpose rule, after a check: a cotangent of the right type, or None, per operand.

    Raises: TypeError that names the primitive and its line; MissingRuleError if a linear operation adds a number.
    """
    if primitive.linearity == "linear":
        check_terms(primitive, operands)
    if not isinstance(cts, (tuple, list)) or len(cts) != len(invars):
        raise TypeError(
            f"the transpose rule of '{primitive.name}'{where()} returned {describe_value(cts)} for {len(invars)} "
            f"operand{'s' * (len(invars) != 1)}. Return a list with one cotangent, or None, per operand."
        )
    for i, (x, ct) in enumerate(zip(invars, cts)):
        if ct is not None and type(ct) is not Zero:
            ct_aval = typeof(ct.value if type(ct) is Negative else ct)
            if not same_type(ct_aval, x.aval):
                raise TypeError(
                    f"the transpose rule of '{primitive.name}'{where()} returned {ct_aval} for operand {i}, which is "
                    f"{x.aval}. Return a cotangent of this type."
                )
    return list(cts)


def check_scalar_output(caller: str, out: Any, leaves: Sequence[Value], *, holomorphic: bool) -> None:
    """Check that a function to be differentiated in reverse returned one real scalar (complex if `holomorphic`).

    Raises: TypeError that shows the result.
    """
    if len(leaves) != 1 or leaves[0] is not out:
        raise TypeError(
            f"{caller} needs a scalar output, but the function returned {describe_value(out)}. Return one scalar."
        )
    aval = typeof(out)
    if type(aval) is not ShapedArray:
        arrays = lower_avals(aval.to_tangent_aval())
        if len(arrays) != 1 or arrays[0].shape or arrays[0].kind != "f":
            raise TypeError(
                f"{caller} needs a scalar output, but the function returned {aval}. Return one real scalar, or a value "
                "whose tangents are one."
            )
        return
    if aval.shape:
        raise TypeError(
            f"{caller} needs a scalar output, but the function returned {aval}. Reduce it (sum, mean), or "
            "use vjp or jacrev."
        )
    if holomorphic and aval.kind != "c":
        raise TypeError(f"{caller} with holomorphic=True: the output is {aval}. Return a complex scalar.")
    if not holomorphic and aval.kind != "f":
        hint = "Return a float"
        if aval.kind == "c":
            hint = "Set holomorphic=True if the function is holomorphic; otherwise return a real number, or use vjp"
        raise TypeError(f"{caller} needs a real output, but the function returned {aval}. {hint}.")
