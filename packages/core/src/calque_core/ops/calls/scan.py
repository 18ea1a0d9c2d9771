"""A loop over the leading axis of arrays: the primitive `scan`.

One idea: the body is a jaxpr from constants, a carry and one slice of each input to the next carry and one slice of
each result.  The constants are the values that the body closes over: operands that are the same at every step.

Read next: `while_loop.py` for loops with an unknown number of steps; `mapping.py` for functions made of scans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core.calls.api_util import array_leaves, check_callable, leaf_names, plain_index
from calque_core.context import here
from calque_core.errors import CheckError
from calque_core.frames.names import named_after
from calque_core.frames.source import describe_function, where
from calque_core.frames.tracebacks import api_boundary
from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn
from calque_core.jaxprs.masks import marked
from calque_core.known.programs import control_flow, run_again
from calque_core.memory.separate import copy_shared, copy_writable_tree
from calque_core.ops.calls.jit import check_operands
from calque_core.ops.calls.loops import (
    add_step,
    as_carry,
    as_dtype_of,
    carry_leaves,
    check_carry,
    check_step,
    discharge_bodies,
    loop_name,
    trace_step,
    with_carry_types,
)
from calque_core.ops.calls.own_values import is_run_on_arrays, item_of, run_on_arrays, stacked
from calque_core.ops.elementwise.convert import narrow
from calque_core.ops.elementwise.weakness import as_declared, strong
from calque_core.ops.meshes.varying import fit_loop, fits
from calque_core.passes.dead_code import dce_jaxpr
from calque_core.passes.discharge import is_reference, with_references
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import NO_AXES, own_types, reference_types, typeof
from calque_core.types.own_types import is_own
from calque_core.types.references import check_distinct_references
from calque_core.types.type_queries import leading_size, with_leading_axis, without_leading_axis
from calque_pytree import PyTreeDef, tree_flatten, tree_map, tree_structure

Value = Any

scan_p = Primitive("scan", multiple_results=True)
scan_p.takes_weak = True
control_flow.add(scan_p)


@scan_p.def_abstract_eval
def scan_abstract_eval(
    *avals: Any, jaxpr: Jaxpr, length: int, num_carry: int, num_consts: int, reverse: bool, unroll: int
) -> list[Any]:
    num_fixed = num_consts + num_carry
    for aval in avals[num_fixed:]:
        if leading_size(aval) != length:
            raise TypeError(f"scan of length {length} got an input {aval}. Its leading axis must have size {length}.")
    check_operands("scan", jaxpr, [*avals[:num_fixed], *(without_leading_axis(aval) for aval in avals[num_fixed:])])
    carry = jaxpr.out_avals[:num_carry]
    check_step("scan", avals[num_consts:num_fixed], carry)
    return [*carry, *(with_leading_axis(aval, length).varying(NO_AXES) for aval in jaxpr.out_avals[num_carry:])]


@scan_p.def_impl
def scan_impl(*args: Value, **params: Any) -> list[Value]:
    if own_types and is_run_on_arrays(args, params["jaxpr"]):
        return run_on_arrays(scan_p, args, params, scan_abstract_eval(*map(typeof, args), **params))
    return _scan_steps(*args, **params)


def _scan_steps(
    *args: Value, jaxpr: Jaxpr, length: int, num_carry: int, num_consts: int, reverse: bool, unroll: int
) -> list[Value]:
    consts = args[:num_consts]
    carry = list(map(as_declared, args[num_consts : num_consts + num_carry], jaxpr.out_avals))
    xs = args[num_consts + num_carry :]
    if any(map(is_own, (*jaxpr.in_avals[num_consts + num_carry :], *jaxpr.out_avals[num_carry:]))):
        return _scan_own(jaxpr, consts, carry, xs, range(length)[::-1] if reverse else range(length))
    stacked = [np.empty((length, *aval.shape), aval.dtype) for aval in jaxpr.out_avals[num_carry:]]
    for step, i in enumerate(reversed(range(length)) if reverse else range(length)):
        try:
            outs = run_again(jaxpr, *consts, *carry, *[x[i] for x in xs])
        except (FloatingPointError, CheckError) as error:
            add_step(error, "scan", step, where())
            raise
        carry = outs[:num_carry]
        for ys, y in zip(stacked, outs[num_carry:]):
            ys[i] = y
    return [*carry, *stacked]


def _scan_own(
    jaxpr: Jaxpr, consts: Sequence[Value], carry: list[Value], xs: Sequence[Value], order: range
) -> list[Value]:
    """Evaluate a loop with inputs or results of own types."""
    num_carry, rows = len(carry), []
    for step, i in enumerate(order):
        try:
            outs = run_again(jaxpr, *consts, *carry, *[item_of(x, i) for x in xs])
        except (FloatingPointError, CheckError) as error:
            add_step(error, "scan", step, where())
            raise
        carry = outs[:num_carry]
        rows.append(outs[num_carry:])
    if order.step < 0:
        rows.reverse()
    avals = jaxpr.out_avals[num_carry:]
    return [*carry, *(stacked([row[i] for row in rows], aval) for i, aval in enumerate(avals))]


def dce_scan(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """Drop unused results, carries that only their own next values use, and unused inputs."""
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    params = eqn.params
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    used_carry, used_ys = list(used_outputs[:num_carry]), list(used_outputs[num_carry:])
    while True:
        _, used_inputs = dce_jaxpr(params["jaxpr"], [*used_carry, *used_ys])
        needed = [a or b for a, b in zip(used_carry, used_inputs[num_consts : num_consts + num_carry])]
        if needed == used_carry:
            break
        used_carry = needed
    used_consts, used_xs = used_inputs[:num_consts], used_inputs[num_consts + num_carry :]
    kept_inputs = [*used_consts, *used_carry, *used_xs]
    jaxpr, _ = dce_jaxpr(params["jaxpr"], [*used_carry, *used_ys], instantiate=kept_inputs)
    new_params = params | {"jaxpr": jaxpr, "num_consts": sum(used_consts), "num_carry": sum(used_carry)}
    invars, outvars = marked(eqn.invars, kept_inputs), marked(eqn.outvars, [*used_carry, *used_ys])
    return kept_inputs, eqn.replace(invars=invars, outvars=outvars, params=new_params)


scan_p.def_rule("dce", dce_scan)


@scan_p.def_rule("lower_values")
def lower_scan(count: Callable[[int, int], int], *, num_consts: int, num_carry: int, **params: Any) -> dict[str, Any]:
    num_fixed = num_consts + num_carry
    return params | {"num_consts": count(0, num_consts), "num_carry": count(num_consts, num_fixed)}


@scan_p.def_rule("fit")
def fit_scan(args: Sequence[Value], params: dict[str, Any]) -> tuple[Sequence[Value], dict[str, Any]]:
    """Make operands and the step vary along the same axes of a mesh."""
    if fits(args, params["jaxpr"].in_avals):
        return args, params
    args, (jaxpr,) = fit_loop(args, [params["jaxpr"]], [params["num_carry"]])
    return args, params | {"jaxpr": jaxpr}


scan_p.def_rule("vma", lambda vmas, *, jaxpr, **_: [aval.vma for aval in jaxpr.out_avals])


@api_boundary
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """Run `carry, y = f(carry, x)` over the leading axis of `xs`; return the last carry and the stacked `y`s.

    `init`, `xs` and the `y`s are pytrees of arrays; the carry keeps its structure, shapes and dtypes, but a Python
    scalar takes the dtype of the result of `f`.  Without `xs`, `f` gets None `length` times.  With `reverse`, the last
    slice comes first, and the `y`s are in the order of the `xs`.  `unroll` steps are compiled into one, all
    steps with 0 or True.
    Shapes: xs [n, *s] -> ys [n, *t].
    Raises: TypeError if the carry changes its type, or `f` does not return a pair; ValueError if lengths differ.

    >>> import numpy as np
    >>> from calque_core.lax import scan
    >>> scan(lambda total, x: (total + x, total), 0.0, np.array([1.0, 2.0, 3.0]))
    (np.float64(6.0), array([0., 1., 3.]))
    """
    check_callable(f, "scan")
    return run_scan(loop_name("scan", f), f, init, xs, length, reverse, unroll)


def run_scan(
    caller: str,
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any,
    length: int | None,
    reverse: bool,
    unroll: int | bool,
) -> tuple[Any, Any]:
    """Return the results of `scan`; messages name the loop `caller`."""
    carry, carry_tree = carry_leaves(caller, "init", init)
    xs_leaves, xs_tree = tree_flatten(xs)
    if reference_types and any(map(is_reference, xs_leaves)):
        return _scan_references(caller, f, init, xs_leaves, xs_tree, (length, reverse, unroll))
    xs_leaves = [*narrow(xs_leaves)]
    steps = _length(caller, xs, length)
    options = {"length": steps, "reverse": bool(reverse), "unroll": steps_at_once(caller, unroll, steps)}
    if here().settings.disable_jit and steps:
        order = range(steps)[::-1] if reverse else range(steps)
        return _run_by_python(caller, f, carry_tree.unflatten(carry), xs_tree.unflatten(xs_leaves), order)
    _, in_tree = tree_flatten(((carry_tree.unflatten(carry), xs), {}))
    outs, ys_tree = _bind_traced(caller, f, in_tree, carry, carry_tree, xs_leaves, options)
    return carry_tree.unflatten(outs[: len(carry)]), ys_tree.unflatten(outs[len(carry) :])


def _scan_references(
    caller: str,
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Sequence[Value],
    xs_tree: PyTreeDef,
    options: tuple[Any, ...],
) -> tuple[Any, Any]:
    """Return the results of `scan` where leaves of the input are references: a step gets references to their slices."""
    check_distinct_references(caller, xs)
    positions = [i for i, x in enumerate(xs) if is_reference(x)]
    on_slices = with_references(lambda carry, *x: f(carry, xs_tree.unflatten(x)), [1 + i for i in positions])

    @named_after(f)
    def step(carry: Any, x: Sequence[Value]) -> tuple[Any, Any]:
        result, last = on_slices(carry, *x)
        check_carry(caller, f, tree_structure(carry), _split_pair(caller, f, tree_structure(result))[0])
        return result[0], (result[1], last)

    arrays = [x.read() if is_reference(x) else x for x in xs]
    carry, (ys, last) = run_scan(caller, step, init, arrays, *options)
    for i, array in zip(positions, last):
        xs[i].write(array)
    return carry, ys


def _bind_traced(
    caller: str,
    f: Callable[[Any, Any], tuple[Any, Any]],
    in_tree: PyTreeDef,
    carry: Sequence[Value],
    carry_tree: PyTreeDef,
    xs: Sequence[Value],
    options: dict[str, Any],
) -> tuple[Sequence[Value], PyTreeDef]:
    """Trace the step for leaves `carry` and `xs`, and bind the loop; return its results and the structure of the ys."""
    check = lambda body: check_carry(caller, f, carry_tree, _split_pair(caller, f, body.out_tree)[0])
    slices = [without_leading_axis(typeof(x)) for x in xs]
    body, types = trace_step("scan", f, in_tree, [typeof(x) for x in carry], slices, check)
    carry = list(map(as_carry, carry, types))
    _, ys_tree = _split_pair(caller, f, body.out_tree)
    jaxpr = with_carry_types(caller, describe_function(f), body.jaxpr, carry_tree.unflatten(types))
    (body,), written = discharge_bodies(body._replace(jaxpr=jaxpr))
    outs = scan_p.bind(
        *body.consts,
        *written.contents,
        *carry,
        *xs,
        jaxpr=body.jaxpr,
        num_carry=len(written.references) + len(carry),
        num_consts=len(body.consts),
        **options,
    )
    return copy_shared(written.results(outs), body.consts, carry, xs), ys_tree


def _run_by_python(
    caller: str, f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, order: range
) -> tuple[Any, Any]:
    """Return the results of `scan` by one call of `f` per step, on values."""
    carry, carry_tree, ys = init, tree_structure(init), []
    for i in order:
        result = f(carry, tree_map(lambda x: item_of(x, i), xs))  # noqa: B023  called at once
        check_carry(caller, f, carry_tree, _split_pair(caller, f, tree_structure(result))[0])
        carry, y = tree_map(as_dtype_of, carry, result[0]), result[1]
        ys.append(y)
    if order.step < 0:
        ys.reverse()
    return copy_writable_tree((carry, tree_map(_stack_results, *ys)))


def _stack_results(*ys: Value) -> Value:
    ys = tuple(map(strong, ys))
    return stacked(ys, typeof(ys[0]))


def _length(caller: str, xs: Any, length: int | None) -> int:
    """Return the number of steps.

    Raises: ValueError, naming the leaf, if lengths differ; TypeError for a scalar leaf.
    """
    leaves, _ = array_leaves(caller, "xs", xs)
    steps = None if length is None else _count(caller, "length", length, 0)
    first = f"length={length}"
    for name, leaf in zip(leaf_names("xs", xs), leaves):
        size = leading_size(typeof(leaf))
        if size is None:
            raise TypeError(f"{caller}: {name} is {typeof(leaf)}, which has no leading axis. Close over it instead.")
        if steps is not None and size != steps:
            raise ValueError(
                f"{caller}: the leading axis of {name} has size {size}, but {first} requires {steps} steps. All "
                "inputs must have one leading size."
            )
        if steps is None:
            steps, first = size, f"the leading axis of {name}"
    if steps is None:
        raise ValueError(f"{caller} got neither inputs nor a length. Give xs, or length.")
    return steps


def steps_at_once(caller: str, unroll: int | bool, length: int) -> int:
    """Return the argument `unroll` of a loop of `length` steps as a number of steps; 0 and True stand for all.

    Raises: TypeError if it is no integer; ValueError if it is negative.
    """
    if isinstance(unroll, bool):
        unroll = 0 if unroll else 1
    return _count(caller, "unroll", unroll, 0) or max(length, 1)


def _count(caller: str, name: str, value: Any, least: int) -> int:
    """Return an argument as an int.  Raises: TypeError if it is no integer; ValueError if it is less than `least`."""
    try:
        count = plain_index(value)
    except TypeError:
        raise TypeError(f"{caller} got {name}={value!r}. Give an int.") from None
    if count < least:
        raise ValueError(f"{caller} got {name}={value!r}. Give {least} or more.")
    return count


def _split_pair(caller: str, f: Any, out_tree: PyTreeDef) -> tuple[Any, Any]:
    """Return the structures of the carry and of the results.  Raises: TypeError if it returned no pair."""
    children = out_tree.children()
    node = out_tree.node_data()
    if node is None or node[0] is not tuple or len(children) != 2:
        raise TypeError(
            f"{caller}: {describe_function(f)} must return a pair (carry, y), but it returned "
            f"{_in_words(out_tree)}. Return None as y if there is nothing to stack."
        )
    return children[0], children[1]


def _in_words(tree: PyTreeDef) -> str:
    """Return 'one array', or 'a tuple of length 3', for the structure of a result."""
    node = tree.node_data()
    if node is None:
        return "one array"
    return "None" if node[0] is type(None) else f"a {node[0].__name__} of length {len(tree.children())}"
