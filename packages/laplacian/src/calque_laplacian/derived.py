"""Rules that follow from derivative rules: the Laplacian of a primitive or a function that only says its derivative.

One idea: as y = f(x), lap(y) = f'(x) lap(x) + sum_i f''(x) (d_i x, d_i x).  A term of the sum is the derivative, along
d_i x, of what the derivative rule makes of d_i x.  So the rule runs on pairs, a value and its change: triples with one
input, whose Laplacians have no meaning.  A function of each element needs one pair, not one for each input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core import Primitive, current_trace, instantiate_zeros, lax, tracing, typeof
from calque_core.extend import is_float, zero_tangent
from calque_core.lax import add, mul, zeros_like
from calque_laplacian.triple import Part, Triple, Value

Values = Sequence[Value]
Rule = Callable[[Values, Values], tuple[Values, Values]]


def results_of_rule(trace: Any, primitive: Primitive, operands: Sequence[Triple], params: dict[str, Any]) -> list[Any]:
    """Return the results of a primitive with a rule of kind "jvp", under the parent of `trace`."""
    rule = primitive.adapted["jvp"]

    def differentiate(primals: Values, tangents: Values) -> Any:
        return rule(tuple(primals), tuple(tangents), **params)

    if trace.is_first_order:
        return first_order_results(differentiate, operands)
    is_real = typeof(operands[0].value).kind == "f"
    if primitive.is_elementwise and len(operands) == 1 and is_real:
        return [elementwise_result(trace, differentiate, *operands)]
    return differentiated_results(trace, differentiate, operands)


def differentiated_results(trace: Any, rule: Rule, operands: Sequence[Triple]) -> list[Triple]:
    """Return the results of a function by its derivative rule, `rule(primals, tangents)`, one direction at a time."""
    outs, slopes = rule([x.value for x in operands], tangents(operands, [x.laplacian for x in operands]))
    is_kept = [is_float(typeof(out).dtype) for out in outs]
    moving = [x.jacobian for x in operands if x.jacobian is not None]

    def along(rows: tuple[Values, Values]) -> list[tuple[Value, Value]]:
        changes, directions = (spread_over(operands, each) for each in rows)
        pairs = slopes_and_changes(trace, rule, operands, changes, directions)
        return [pair for pair, keep in zip(pairs, is_kept) if keep]

    rows = iter(lax.map(along, (moving, [trace.inner.weighted(jacobian) for jacobian in moving])))
    return [
        with_change(out, slope, *next(rows)) if keep else Triple(out) for out, slope, keep in zip(outs, slopes, is_kept)
    ]


def with_change(out: Value, slope: Value, jacobian: Value, changes: Value) -> Triple:
    """Return the triple of `out`: its Laplacian is f'(x) lap(x), and the sum of the changes along all directions."""
    return Triple(out, jacobian, add(instantiate_zeros(slope), lax.reduce_sum(changes, 0)))


def slopes_and_changes(
    trace: Any, rule: Rule, operands: Sequence[Triple], changes: Sequence[Part], directions: Sequence[Part]
) -> list[tuple[Value, Value]]:
    """Return f'(x) b for the changes b of the operands, and its derivative along `directions`; one pair per result."""
    with tracing(trace.first_order(current_trace())) as inner:
        pairs = [
            x.value
            if row is None
            else inner.wrap(Triple(x.value, lax.expand_dims(row, (0,)), zeros_like(row)), typeof(x.value))
            for x, row in zip(operands, directions)
        ]
        _, slopes = rule(pairs, tangents(operands, changes))
        results = [inner.unwrap(instantiate_zeros(slope)) for slope in slopes]
    return [(x.value, zeros_like(x.value) if x.jacobian is None else x.jacobian[0]) for x in results]


def first_order_results(rule: Rule, operands: Sequence[Triple]) -> list[Triple]:
    """Return the results for triples with one input and no Laplacian."""
    rows = [None if x.jacobian is None else lax.index_in_dim(x.jacobian, 0, keepdims=False) for x in operands]
    outs, slopes = rule([x.value for x in operands], tangents(operands, rows))
    triples = []
    for out, slope in zip(outs, slopes):
        if is_float(typeof(out).dtype):
            triples.append(Triple(out, lax.expand_dims(instantiate_zeros(slope), (0,)), zeros_like(out)))
        else:
            triples.append(Triple(out))
    return triples


def elementwise_result(trace: Any, rule: Rule, x: Triple) -> Triple:
    """Return the result of a function of each element, by f'(x) and f''(x)."""
    one = lax.ones_like(x.value)
    ((out,), _) = rule([x.value], [zero_tangent(x.value)])
    ((first, second),) = slopes_and_changes(trace, rule, [x], [one], [one])
    curvature = mul(second, trace.inner(x.jacobian, x.jacobian))
    return Triple(out, mul(first, x.jacobian), add(mul(first, x.laplacian), curvature))


def spread_over(operands: Sequence[Triple], rows: Values) -> list[Part]:
    """Return one part for each operand, None for a constant."""
    remaining = iter(rows)
    return [None if x.jacobian is None else next(remaining) for x in operands]


def tangents(operands: Sequence[Triple], parts: Sequence[Part]) -> list[Value]:
    """Return the tangents of operands; a symbolic zero for None."""
    return [zero_tangent(x.value) if part is None else part for x, part in zip(operands, parts)]
