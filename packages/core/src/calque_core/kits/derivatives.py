"""Short forms of derivative rules.

A file of rules reads like a table of derivatives: `defjvp(sin_p, lambda x_dot, out, x: mul(x_dot, cos(x)))`.

Read next: `batches.py`, the same for batching rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from calque_core.errors import MissingRuleError
from calque_core.frames.source import where
from calque_core.ops.calls.linear import UndefinedPrimal, Zero, add_tangents, instantiate_zeros, zero_tangent
from calque_core.primitives.primitive import Primitive, results_of
from calque_core.primitives.rule_results import gives_lists, wrong_result

Value = Any
Rule = Callable[..., Value]


def defjvp(primitive: Primitive, *rules: Rule | None, jointly: Rule | None = None) -> None:
    """Give the derivative of a single-result primitive: one rule, or None for zero, per operand.

    A rule is `rule(x_dot, out, *primals, **params)`: the contribution of one operand's tangent to the result's.
    Where all operands have a tangent, `jointly(tangents, out, *primals, **params)` returns the sum of the
    contributions, in fewer operations than one by one.

    >>> import numpy as np
    >>> from calque_core import Primitive, rules
    >>> from calque_core.extend import defjvp
    >>> double_p = Primitive("double")
    >>> _ = double_p.def_impl(lambda x: np.add(x, x))
    >>> defjvp(double_p, lambda x_dot, out, x: double_p.bind(x_dot))
    >>> rules("jvp")[double_p]((3.0,), (1.0,))
    ([np.float64(6.0)], [np.float64(2.0)])
    """
    single_rule = rules[0] if len(rules) == 1 else None

    for i, rule in enumerate(rules):
        if rule is not None and not callable(rule):
            raise TypeError(f"defjvp of '{primitive.name}': rule {i} is {rule!r}. Give a function, or None for zero.")

    @gives_lists
    def jvp_rule(primals: Sequence[Value], tangents: Sequence[Value], **params: Any) -> tuple[list[Value], list[Value]]:
        if len(tangents) != len(rules):
            raise TypeError(
                f"'{primitive.name}' was bound to {len(tangents)} operands{where()}, but defjvp got {len(rules)} "
                "rules. Give one rule, or None, per operand."
            )
        out = primitive.bind(*primals, **params)
        if single_rule is not None and type(tangents[0]) is not Zero:  # nearly half of all operations; 0.4 us sooner
            out_dot = single_rule(tangents[0], out, primals[0], **params)
            return [out], [out_dot if out_dot is not None else _raise_no_tangent(primitive, single_rule)]
        if jointly is not None and all(type(t) is not Zero for t in tangents):
            out_dot = jointly(tangents, out, *primals, **params)
            return [out], [out_dot if out_dot is not None else _raise_no_tangent(primitive, jointly)]
        out_dot = None
        for x_dot, rule in zip(tangents, rules):
            if type(x_dot) is not Zero and rule is not None:
                term = rule(x_dot, out, *primals, **params)
                if term is None:
                    _raise_no_tangent(primitive, rule)
                out_dot = term if out_dot is None else add_tangents(out_dot, term)
        return [out], [zero_tangent(out) if out_dot is None else out_dot]

    primitive.def_rule("jvp", jvp_rule)


def _raise_no_tangent(primitive: Primitive, rule: Rule) -> NoReturn:
    advice = "Return the contribution of the operand's tangent; in place of a rule, None means zero."
    raise wrong_result(primitive.name, "jvp", rule, None, advice)


def defjvp_all(primitive: Primitive, rule: Rule) -> None:
    """Give the whole jvp rule: `rule(primals, tangents, **params) -> (out, out_dot)`; a tangent may be a `Zero`.

    With `multiple_results`, both are lists.

    >>> import numpy as np
    >>> from calque_core import Primitive, rules
    >>> from calque_core.extend import defjvp_all
    >>> double_p = Primitive("double")
    >>> _ = double_p.def_impl(lambda x: np.add(x, x))
    >>> defjvp_all(double_p, lambda primals, tangents: (double_p.bind(*primals), double_p.bind(*tangents)))
    >>> rules("jvp")[double_p]((3.0,), (1.0,))
    (np.float64(6.0), np.float64(2.0))
    """
    primitive.def_rule("jvp", rule)


def deftranspose(primitive: Primitive, rule: Rule) -> None:
    """Give the transpose rule: `rule(ct, *operands, **params) -> [ct or None per operand]`.

    Unknown operands, in which the primitive is linear, are `UndefinedPrimal`s.

    >>> from calque_core import Primitive, ShapedArray, UndefinedPrimal, rules
    >>> from calque_core.extend import deftranspose
    >>> triple_p = Primitive("triple")
    >>> deftranspose(triple_p, lambda ct, x: [3.0 * ct])
    >>> rules("transpose")[triple_p](2.0, UndefinedPrimal(ShapedArray((), "float64")))
    [6.0]
    """
    primitive.def_rule("transpose", rule)


def deflinear(primitive: Primitive, transpose_rule: Rule) -> None:
    """Say that a primitive is linear in all its operands together, and give its transpose rule.

    >>> import numpy as np
    >>> from calque_core import Primitive, rules
    >>> from calque_core.extend import deflinear
    >>> double_p = Primitive("double")
    >>> _ = double_p.def_impl(lambda x: np.add(x, x))
    >>> deflinear(double_p, lambda ct, x: [double_p.bind(ct)])
    >>> rules("jvp")[double_p]((3.0,), (1.0,))
    ([np.float64(6.0)], [np.float64(2.0)])
    """

    @gives_lists
    def jvp_rule(primals: Sequence[Value], tangents: Sequence[Value], **params: Any) -> tuple[list[Value], list[Value]]:
        outs = results_of(primitive, primals, params)
        if all(type(t) is Zero for t in tangents):
            return outs, [zero_tangent(out) for out in outs]
        return outs, results_of(primitive, map(instantiate_zeros, tangents), params)

    primitive.def_linearity("linear")
    primitive.def_rule("jvp", jvp_rule)
    primitive.def_rule("transpose", transpose_rule)


def defbilinear(primitive: Primitive, lhs_rule: Rule, rhs_rule: Rule) -> None:
    """Say that a primitive of two operands is linear in each, and give the transpose in each.

    `lhs_rule(ct, lhs, rhs, **params)` returns the cotangent of the left operand (`lhs` holds only its type), `rhs_rule`
    the cotangent of the right one.

    >>> import numpy as np
    >>> from calque_core import Primitive, rules
    >>> from calque_core.extend import defbilinear
    >>> times_p = Primitive("times")
    >>> _ = times_p.def_impl(np.multiply)
    >>> defbilinear(times_p, lambda ct, x, y: times_p.bind(ct, y), lambda ct, x, y: times_p.bind(x, ct))
    >>> rules("jvp")[times_p]((3.0, 3.0), (1.0, 1.0))
    ([np.float64(9.0)], [np.float64(6.0)])
    """
    primitive.def_linearity("bilinear")
    defjvp(
        primitive,
        lambda x_dot, out, x, y, **params: primitive.bind(x_dot, y, **params),
        lambda y_dot, out, x, y, **params: primitive.bind(x, y_dot, **params),
    )

    def transpose_rule(ct: Value, x: Value, y: Value, **params: Any) -> list[Value]:
        if type(x) is not UndefinedPrimal:
            return [None, rhs_rule(ct, x, y, **params)]
        if type(y) is UndefinedPrimal:
            check_known(primitive, y)
        return [lhs_rule(ct, x, y, **params), None]

    primitive.def_rule("transpose", transpose_rule)


def check_known(primitive: Primitive, *operands: Value) -> None:
    """Check, in a transpose rule, that the operands in which the primitive is not linear are known.

    Raises: MissingRuleError.

    >>> from calque_core import Primitive
    >>> from calque_core.extend import check_known
    >>> check_known(Primitive("cube"), 3.0)
    """
    for x in operands:
        if type(x) is UndefinedPrimal:
            raise not_transposed(primitive, "cannot be transposed in operands in which it is not linear")


def not_transposed(primitive: Primitive, refusal: str) -> MissingRuleError:
    """Return the error of a transpose rule: the function, as `refusal` says after the primitive's name, is not linear.

    >>> from calque_core import Primitive
    >>> from calque_core.engine import not_transposed
    >>> not_transposed(Primitive("cube"), "has no transpose").refusal
    'has no transpose'
    """
    error = MissingRuleError(
        f"'{primitive.name}'{where()} {refusal}. Transpose a linear function, or differentiate this one.",
        primitive=primitive.name,
        kind="transpose",
        package="calque_autodiff",
    )
    error.place, error.refusal = where(), refusal
    return error


def zero_derivative(*primitives: Primitive, reason: str) -> None:
    """Say that the derivative of primitives is zero, and why: piecewise constant, integer results.

    >>> from calque_core import Primitive
    >>> from calque_core.extend import zero_derivative
    >>> step_p = Primitive("step")
    >>> zero_derivative(step_p, reason="it is piecewise constant")
    >>> step_p.linearity, step_p.holes["transpose"]
    ('constant', 'its derivative is zero: it is piecewise constant')
    """
    for primitive in primitives:
        primitive.def_linearity("constant")
        if primitive.multiple_results:
            primitive.def_rule("jvp", _zero_jvp_of(primitive))
        else:
            defjvp_all(primitive, gives_lists(_zero_jvp_of(primitive)))
        primitive.def_hole("transpose", f"its derivative is zero: {reason}")


NOT_LINEAR = "it is not linear; only the derivative of a function is transposed"


def not_linear(*primitives: Primitive) -> None:
    """Say that primitives have no transpose rule because they are not linear in any operand.

    >>> from calque_core import Primitive
    >>> from calque_core.extend import not_linear
    >>> cube_p = Primitive("cube")
    >>> not_linear(cube_p)
    >>> cube_p.holes["transpose"]
    'it is not linear; only the derivative of a function is transposed'
    """
    for primitive in primitives:
        primitive.def_hole("transpose", NOT_LINEAR)


def _zero_jvp_of(primitive: Primitive) -> Rule:
    def zero_jvp(primals: Sequence[Value], tangents: Sequence[Value], **params: Any) -> tuple[list[Value], list[Value]]:
        outs = results_of(primitive, primals, params)
        return outs, [zero_tangent(x) for x in outs]

    return zero_jvp
