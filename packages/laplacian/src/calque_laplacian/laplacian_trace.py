"""The trace that applies the rules of kind "laplacian" to triples.

One idea: a primitive has a rule, or its rule follows from its declaration as linear, bilinear or constant, or from its
derivative rule; otherwise it is decomposed.

Read next: `derived.py` for what follows from derivative rules, `forward.py` for the public functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from calque_core import Primitive, Trace, ValueTrace, hand_custom_down, moveaxis, tracing, typeof
from calque_core.extend import is_float, missing_rule, where
from calque_laplacian.derived import Rule, differentiated_results, first_order_results, results_of_rule
from calque_laplacian.linear import bilinear_results, linear_results, results_of
from calque_laplacian.sparsity import dense, sparse_results
from calque_laplacian.triple import InnerProduct, Triple, Value, with_zeros

Params = dict[str, Any]


class LaplacianTrace(ValueTrace):
    """Applies rules to triples with respect to `n` inputs.

    A rule of kind "laplacian" is `rule(inner, *triples, **params)`; it returns a triple, a list of triples with
    `multiple_results`, and runs under the parent.  `inner` is the inner product of two Jacobians.
    """

    verb = "laplacian"
    kind = "laplacian"

    def __init__(self, parent: Trace, n: int, inner: InnerProduct, is_first_order: bool = False) -> None:
        super().__init__(parent)
        self.n, self.inner, self.is_first_order = n, inner, is_first_order
        self.key = (n, is_first_order) if inner.weights is None else None  # weights may be tracers

    def first_order(self, parent: Trace) -> LaplacianTrace:
        """Return a trace of triples with one input, whose Laplacians have no meaning."""
        return LaplacianTrace(parent, 1, InnerProduct(), is_first_order=True)

    def lift(self, x: Value) -> Triple:
        return Triple(x)

    def predicate(self, value: Triple) -> Value:
        return value.value

    def to_arrays(self, value: Triple) -> tuple[list[Value], None]:
        """Return the arrays of a triple; a loop slices the first axis, so the directions come last."""
        if not is_float(typeof(value.value).dtype):
            return [value.value], None
        x = with_zeros(dense(value, self.n), self.n)
        return [x.value, moveaxis(x.jacobian, 0, typeof(x.value).ndim), x.laplacian], None

    def from_arrays(self, static: Any, arrays: Sequence[Value]) -> Triple:
        if len(arrays) == 1:
            return Triple(*arrays)
        value, jacobian, laplacian = arrays
        return Triple(value, moveaxis(jacobian, typeof(value).ndim, 0), laplacian)

    def applies(self, primitive: Primitive) -> bool:
        """Apply the derivative rule of a solver, which holds programs: its steps have other derivatives."""
        rules = primitive.adapted
        return super().applies(primitive) or (rules["jvp"] is not None and rules["value"] is None)

    def apply(self, primitive: Primitive, values: Sequence[Triple], params: Params) -> Any:
        """Return the results of a primitive on triples, or `NotImplemented` to have it decomposed."""
        if primitive.linearity == "constant" or all(x.jacobian is None for x in values):
            return [Triple(out) for out in results_of(primitive, [x.value for x in values], params)]
        if any(x.inputs is not None for x in values):
            return sparse_results(primitive, values, params, self.n, partial(self.apply_to_rows, primitive, params))
        rule = primitive.adapted[self.kind]
        if rule is None:
            return self.apply_derived(primitive, values, params)
        outs = rule(self.inner, *values, **params)
        return outs if primitive.multiple_results else [outs]

    def apply_to_rows(self, primitive: Primitive, params: Params, values: Sequence[Triple]) -> Any:
        """Return the results for Jacobians with the same rows, without the names of these."""
        return self.apply(primitive, [x._replace(inputs=None) for x in values], params)

    def apply_derived(self, primitive: Primitive, values: Sequence[Triple], params: Params) -> Any:
        """Return the results by the declaration of a primitive, or by its derivative rule.

        Raises: MissingRuleError if it has neither, and no decomposition.
        """
        if primitive.linearity == "linear":
            return linear_results(primitive, values, params)
        if primitive.linearity == "bilinear":
            return bilinear_results(self.inner, primitive, values, params)
        if primitive.adapted["jvp"] is not None:
            return results_of_rule(self, primitive, values, params)
        if primitive.adapted["decomposition"] is None:
            error = missing_rule(primitive, self.kind)
            error.add_note("A rule of kind 'jvp' serves, too. Import calque_autodiff for those of core.")
            raise error
        return NotImplemented

    def process_custom_derivative(
        self, primitive: Primitive, fun: Callable[..., Sequence[Value]], args: Sequence[Value], params: Params
    ) -> list[Value]:
        """Return the results of a function with derivative rules, by its rule for forward mode.

        Raises: NotImplementedError if it has a rule for reverse mode only; UnexpectedTracerError if it closes over
        a value.
        """
        rules = params["rules"]
        if not rules.has_derivative:
            return list(fun(*args))
        if not any(map(self.owns, args)):
            return hand_custom_down(self.parent, primitive, fun, args, params)
        if rules.jvp is None:
            raise NotImplementedError(
                f"laplacian of {rules.name}{where()}: it has a derivative rule for reverse mode only, and a "
                "Laplacian is computed forward. Give the function a custom_jvp rule in place of the custom_vjp rule."
            )
        return self.by_rule(rules.jvp, args)

    def by_rule(self, rule: Rule, args: Sequence[Value]) -> list[Value]:
        """Return the results of a function by its derivative rule, `rule(primals, tangents)`."""
        operands = [dense(self.unwrap(x), self.n) for x in args]
        with tracing(self.parent):
            if self.is_first_order:
                outs = first_order_results(rule, operands)
            else:
                outs = differentiated_results(self, rule, operands)
        return [self.wrap(out, typeof(out.value)) for out in outs]
