"""The trace that applies batching rules to values with a batch axis.

One idea: a rule takes whole arrays and the positions of their batch axes, and returns the same.  It runs under the
parent trace, which processes its operations.  Where nothing is staged, an operation or a function whose types were met
before runs as straight-line code that the rules gave once.

Read next: `known.py`; `verbs/vmap.py`; `define.py` for the short forms of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from calque_batching.batch_tracer import BatchTracer, element
from calque_batching.known import Code, batches
from calque_core import (
    CustomRules,
    Primitive,
    Trace,
    Tracer,
    UnexpectedTracerError,
    current_trace,
    decompose,
    hand_custom_down,
    hand_down,
    jaxprs_in_params,
    lax,
    moveaxis,
    tracing,
    typeof,
)
from calque_core.engine import (
    add_remedy,
    all_run_known,
    captured_tracers,
    check_lift,
    each_one_value,
    entered,
    here,
    lower_avals,
    named_axes,
    only_evaluates,
    own_types,
)
from calque_core.extend import merged, missing_rule, unmarked, where

Value = Any
Params = Mapping[str, Any]


class AxisData(NamedTuple):
    """A mapped axis: its name, which may be None, its size, and the treatment of primitives without a batching rule.

    `missing` is "error", or "loop": such a primitive runs for one element after the other.  `mesh_axes` are the axes of
    a mesh that divide it where the program divides arrays.
    """

    name: Any
    size: int
    missing: Literal["error", "loop"] = "error"
    mesh_axes: tuple[Any, ...] = ()

    def apply(
        self, fun: Callable[..., Sequence[Value]], args: Sequence[Value], dims: Sequence[int | None]
    ) -> tuple[list[Value], list[int | None]]:
        """Return the results of `fun`, which takes and returns single elements, for a whole batch, and their axes.

        `dims` are the batch axes of the arguments; None stands for a value without one, among the results too.
        """
        parent = current_trace()
        trace = BatchTrace(parent, self)
        trace.position = parent.position  # a search would pass the frames of all programs around this one
        axis_env = here().axis_env if self.name is None else (*here().axis_env, (self.name, self.size))
        with tracing(trace), entered(axis_env=axis_env):
            make = element if own_types else BatchTracer
            return trace.split(fun(*[x if d is None else make(trace, x, d) for x, d in zip(args, dims)]))


class BatchTrace(Trace):
    """Applies batching rules to values with its batch axis; hands other operations to its parent."""

    verb = "vmap"
    tracer_type, form = BatchTracer, attrgetter("_element")

    def __init__(self, parent: Trace, axis: AxisData, tag: object = None) -> None:
        Trace.__init__(self, parent)  # `super()` takes 0.1 us more
        self.axis = axis
        self.tag = object() if tag is None else tag
        self.is_in_mesh = bool(here().varying_axes)  # whether types say along which axes of a mesh values vary
        if not self.is_in_mesh and type(self) is BatchTrace and all_run_known(parent):
            self.known = batches

    def process_primitive(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        known = self.known
        if known is None or not primitive.is_leaf:
            return self.run_rule(primitive, args, params)
        return known.call(self, primitive, args, params)  # type: ignore[no-any-return]

    def run_known(self, code: Code, operands: Sequence[Value]) -> list[Value]:
        """Run the code of a known operation; return its results."""
        return code(self, *operands)

    def run_rule(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        """Run the operation's batching rule under the parent."""
        vals: list[Value] = []
        dims: list[int | None] = []
        is_mapped, is_weak = False, True
        for x in each_one_value(args) if own_types else args:
            kind = type(x)
            if (kind is BatchTracer or (own_types and self.owns(x))) and (x._trace is self or x._trace.tag is self.tag):
                vals.append(x.val)
                dims.append(x._element.bdim)
                is_mapped, is_weak = True, is_weak and x.aval.weak_type
            else:
                vals.append(x)
                dims.append(None)
        rules = primitive.adapted
        axis_rule = rules["axis_batch"]
        may_concern = axis_rule is not None or rules["decomposition"] is not None
        if not is_mapped and not (may_concern and self.concerns(params)):
            return hand_down(self.parent, primitive, vals, params)  # type: ignore[arg-type]
        context = here()
        before = context.trace
        try:
            context.trace = self.parent
            if axis_rule is not None:
                outs, out_dims = axis_rule(self.axis, tuple(vals), tuple(dims), **params)
            elif rules["batch"] is not None:
                outs, out_dims = rules["batch"](tuple(vals), tuple(dims), **params)
            elif rules["decomposition"] is not None:
                return decompose(self, primitive, args, params, "batch")
            else:
                outs = self.one_by_one(primitive, vals, dims, params)
                out_dims = [0] * len(outs)
        finally:
            context.trace = before
        size = self.axis.size
        for x, d in zip(outs, out_dims):
            if d is not None and _size_at(x, d) != size:
                raise ValueError(_misplaced_message(primitive, x, d, size))
        make = element if own_types else BatchTracer
        if (is_weak and primitive.weak_kinds) or (params and _may_be_weak(params)):
            avals = primitive.abstract(*map(typeof, args), **params)
            weak = [getattr(aval, "weak_type", False) for aval in avals]
            return [x if d is None else make(self, x, d, w) for x, d, w in zip(outs, out_dims, weak)]
        return [x if d is None else make(self, x, d) for x, d in zip(outs, out_dims)]

    def one_by_one(
        self, primitive: Primitive, vals: Sequence[Value], dims: Sequence[int | None], params: dict[str, Any]
    ) -> list[Value]:
        """Return the results of a primitive without a batching rule: a loop over the elements.

        Raises: MissingRuleError unless the axis asks for loops.
        """
        if self.axis.missing != "loop":
            error = missing_rule(primitive, "batch")
            add_remedy(error, f"vmap(.., missing='loop') runs '{primitive.name}' for one element after the other.")
            raise error
        return one_by_one(primitive, vals, dims, params)

    def process_custom_derivative(
        self, primitive: Primitive, fun: Callable[..., Sequence[Value]], args: Sequence[Value], params: dict[str, Any]
    ) -> list[Value]:
        """Let the parent apply the function to whole batches, by rules for whole batches.

        A function that does not depend on this axis is the same for all elements; the parent takes it unchanged.
        Raises: UnexpectedTracerError for a function with a rule for batches that closes over an element.
        """
        if params["rules"].batch is None and only_evaluates(self.parent):
            return list(fun(*args))
        if not self.is_met_by(args, params["rules"]):
            return hand_custom_down(self.parent, primitive, fun, args, params)  # type: ignore[arg-type]
        vals, dims = self.split(args)
        context = here()
        before = context.trace
        try:
            context.trace = self.parent
            rule = primitive.adapted["axis_batch"]
            outs, out_dims = rule(self.axis, tuple(vals), tuple(dims), fun=fun, tag=self.tag, **params)
        except UnexpectedTracerError as error:
            context.trace = before
            rules = params["rules"]
            if rules.batch is not None and any(map(self.owns, captured_tracers(rules.functions))):
                raise UnexpectedTracerError(_closure_message(rules.name)) from error
            raise
        finally:
            context.trace = before
        return [x if d is None else element(self, x, d) for x, d in zip(outs, out_dims)]

    def is_met_by(self, args: Sequence[Value], rules: CustomRules) -> bool:
        """Tell whether a function may depend on this axis: by its arguments, its closure or the name of the axis."""
        if self.axis.name is not None or any(self.owns(x) for x in args):
            return True
        return any(self.owns(x) for x in captured_tracers(rules.functions))

    def owns(self, x: Value) -> bool:
        """Tell whether `x` has the batch axis of this trace."""
        if type(x) is not BatchTracer and not (own_types and isinstance(x, BatchTracer)):
            return False
        return x._trace is self or x._trace.tag is self.tag

    def concerns(self, params: dict[str, Any]) -> bool:
        """Tell whether a primitive without mapped operands names this axis in its parameters, programs included."""
        return self.axis.name is not None and self.axis.name in named_axes(params)

    def split(self, outs: Sequence[Value]) -> tuple[list[Value], list[int | None]]:
        """Return the arrays and the batch axes of `outs`; None for a value without one.

        Raises: UnexpectedTracerError for a tracer that is no constant here.
        """
        vals: list[Value] = []
        dims: list[int | None] = []
        for x in each_one_value(outs) if own_types else outs:
            is_mine = self.owns(x)
            if not is_mine and isinstance(x, Tracer):
                check_lift(x, self)
            vals.append(x.val if is_mine else x)
            dims.append(x._element.bdim if is_mine else None)
        return vals, dims


def one_by_one(
    primitive: Primitive, vals: Sequence[Value], dims: Sequence[int | None], params: dict[str, Any]
) -> list[Value]:
    """Return the results of a primitive for one element after the other, stacked in front."""
    is_mapped = [d is not None for d in dims]
    shared = unmarked(vals, is_mapped)

    def element(slices: Sequence[Value]) -> list[Value]:
        return primitive.bind_with_trace(current_trace(), merged(is_mapped, slices, shared), params)

    return lax.map(element, [moveaxis(x, d, 0) for x, d in zip(vals, dims) if d is not None])  # type: ignore[no-any-return]


def _closure_message(name: str) -> str:
    return (
        f"{name}{where()} closes over an element of a batch, which its rule for batches, or a rule of its derivative, "
        "does not get. Pass the value as an argument."
    )


def _may_be_weak(params: dict[str, Any]) -> bool:
    """Tell whether parameters can make results weak: a program, or `weak_type`."""
    return params.get("weak_type", False) or next(jaxprs_in_params(params), None) is not None


def _size_at(x: Value, dim: int) -> int:
    """Return the size of axis `dim` of `x`, or -1 if `x` has no such axis."""
    if own_types and type(x) in own_types:
        shapes = [aval.shape for aval in lower_avals(typeof(x))]
        sizes = {shape[dim] if 0 <= dim < len(shape) else -1 for shape in shapes}
        return sizes.pop() if len(sizes) == 1 else -1
    shape = typeof(x).shape
    return shape[dim] if 0 <= dim < len(shape) else -1


def _misplaced_message(primitive: Primitive, x: Value, dim: int, size: int) -> str:
    return (
        f"the batching rule of '{primitive.name}'{where()} returned {typeof(x)} with the batch axis {dim}, but the "
        f"result has no axis of size {size} there. Return the position of the batch axis in the result."
    )
