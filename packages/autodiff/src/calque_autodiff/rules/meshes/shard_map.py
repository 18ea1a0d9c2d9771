"""The derivatives of `shard_map`: each is one `shard_map` of the derivative of its body.

One idea: a tangent, a cotangent and a residual are divided over the mesh as their value is.  If the types of the body
say along which axes a value varies, this is all: the transpose of `pvary` sums cotangents.  Without these types
(`check_vma=False`), the positions along an axis that a spec does not name share the work: each gets an equal part of
the cotangent of a result, and their parts of the cotangent of an operand are summed.

Read next: `jit.py`; `programs/partial_eval.py`, which cuts the body in two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from calque_autodiff.programs.jaxprs import jvp_jaxpr
from calque_autodiff.programs.partial_eval import Place, at_places, partial_eval_jaxpr, without_repeats
from calque_autodiff.programs.transpose import is_linear, transpose_jaxpr
from calque_autodiff.traces.tangent_trace import record
from calque_core import Jaxpr, PartitionSpec, Var, eval_jaxpr, stage
from calque_core.engine import AnyMesh, Mask, body_axes
from calque_core.extend import is_nonzero, marked, merged, settings_key, split_results, unmarked, where
from calque_core.lax import div, psum, pvary, pvary_p, reshape, shard_map_p

Value = Any
Specs = Sequence[PartitionSpec]
AxisNames = tuple[Any, ...]
How = dict[str, Any]  # the mesh, its manual axes and `check_vma`


# Forwards


@shard_map_p.def_rule("jvp")
def shard_map_jvp(
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    jaxpr: Jaxpr,
    in_specs: Specs,
    out_specs: Specs,
    **how: Any,
) -> tuple[list[Value], list[Value]]:
    """One program computes the shards of the results and of their tangents."""
    nonzeros = is_nonzero(tangents)
    with body_axes(**how):
        dual, out_mask = jvp_jaxpr(jaxpr, nonzeros)
    results = shard_map_p.bind(
        *primals,
        *marked(tangents, nonzeros),
        jaxpr=dual,
        in_specs=(*in_specs, *marked(in_specs, nonzeros)),
        out_specs=(*out_specs, *marked(out_specs, out_mask)),
        **how,
    )
    return split_results(results, out_mask)


# Partial evaluation


class SplitBody(NamedTuple):
    """A body cut in two.

    `known` returns the known results, then new residuals, divided as `known_specs` say; `unknown` takes the residuals,
    which are at `places` among the operands and results of `known`, and the unknown operands.
    """

    known: Jaxpr
    known_specs: Specs
    unknown: Jaxpr
    places: Sequence[Place]
    known_outs: Mask


@shard_map_p.def_rule("partial_eval")
def shard_map_partial_eval(
    known_mask: Sequence[bool], *operands: Value, jaxpr: Jaxpr, in_specs: Specs, out_specs: Specs, **how: Any
) -> list[Value]:
    """Run the known half of the body now; record one `shard_map` of the residuals and the unknown operands."""
    with body_axes(**how):
        split = split_body(jaxpr, tuple(known_mask), tuple(out_specs), how)
    known_operands, known_in_specs = marked(operands, known_mask), marked(in_specs, known_mask)
    known = {"jaxpr": split.known, "in_specs": tuple(known_in_specs), "out_specs": tuple(split.known_specs), **how}
    is_needed = split.known.outvars or split.known.effects
    results = shard_map_p.bind(*known_operands, **known) if is_needed else []
    residuals = at_places(split.places, known_operands, results)
    residual_specs = at_places(split.places, known_in_specs, split.known_specs)
    unknown = {
        "jaxpr": split.unknown,
        "in_specs": (*residual_specs, *unmarked(in_specs, known_mask)),
        "out_specs": tuple(unmarked(out_specs, split.known_outs)),
        **how,
    }
    recorded = record(shard_map_p, [*residuals, *unmarked(operands, known_mask)], unknown)
    return merged(split.known_outs, results, recorded)


def split_body(jaxpr: Jaxpr, known_mask: Sequence[bool], out_specs: Specs, how: How) -> SplitBody:
    """Return a body cut in two; its axes must be bound.

    A residual is divided along its first axis, over all mesh axes along which it may vary; a scalar gets an axis.  A
    value that does not vary is stored before `pvary`.
    """

    def make() -> SplitBody:
        split = partial_eval_jaxpr(jaxpr, known_mask)
        num_known = sum(split.known_outs)
        known_specs = marked(out_specs, split.known_outs)
        is_exact = [not _unvaried(aval, spec, **how) for aval, spec in zip(split.known.out_avals, known_specs)]
        known, axes = _before_pvary(split.known, num_known)
        avals = known.out_avals[num_known:]
        known, places = without_repeats(known, num_known, is_exact)
        specs = [_residual_spec(aval, **how) for aval in known.out_avals[num_known:]]
        gets_axis = [bool(spec) and not aval.shape for spec, aval in zip(specs, known.out_avals[num_known:])]
        has_axis = at_places(places, [False] * len(known.invars), [*[False] * num_known, *gets_axis])
        return SplitBody(
            _with_axes(known, [*[False] * num_known, *gets_axis]),
            [*known_specs, *specs],
            _from_residuals(split.unknown, list(map(Residual, avals, has_axis, axes))),
            places,
            split.known_outs,
        )

    key = ("split body", known_mask, out_specs, *how.values(), *settings_key())
    return jaxpr.memo(key, make)  # type: ignore[no-any-return]


class Residual(NamedTuple):
    """How a residual is stored: its type, whether it has an axis of size 1, and the axes for `pvary`."""

    aval: Any
    has_axis: bool
    axes: AxisNames


def _before_pvary(known: Jaxpr, num_outs: int) -> tuple[Jaxpr, list[AxisNames]]:
    """Return a program whose residuals are operands of `pvary` in place of its results, and the axes of each."""
    varied = {eqn.outvars[0]: eqn for eqn in known.eqns if eqn.primitive is pvary_p}
    eqns = [varied.get(v) if type(v) is Var else None for v in known.outvars[num_outs:]]
    residuals = [v if eqn is None else eqn.invars[0] for v, eqn in zip(known.outvars[num_outs:], eqns)]
    axes = [() if eqn is None else eqn.params["axes"] for eqn in eqns]
    return known.replace(outvars=[*known.outvars[:num_outs], *residuals]), axes


def _residual_spec(aval: Any, *, axis_names: Sequence[Any], check_vma: bool, **_: Any) -> PartitionSpec:
    """Return the spec of a residual: all axes along which it may vary divide its first axis."""
    axes = tuple(name for name in axis_names if not check_vma or name in aval.vma)
    return PartitionSpec(axes) if axes else PartitionSpec()


def _with_axes(jaxpr: Jaxpr, mask: Mask) -> Jaxpr:
    """Return a program whose results in `mask`, which are scalars, have an axis of size 1."""
    if not any(mask):
        return jaxpr

    def run(*args: Value) -> list[Value]:
        outs = eval_jaxpr(jaxpr, jaxpr.consts, *args)
        return [reshape(x, (1,)) if m else x for x, m in zip(outs, mask)]

    return stage(run, jaxpr.in_avals, verb="partial_eval")


def _from_residuals(jaxpr: Jaxpr, residuals: Sequence[Residual]) -> Jaxpr:
    """Return a program whose first operands are residuals as they are stored."""
    if not any(r.has_axis or r.axes for r in residuals):
        return jaxpr

    def run(*args: Value) -> list[Value]:
        values = [reshape(x, ()) if r.has_axis else x for x, r in zip(args, residuals)]
        varied = [pvary(x, r.axes) if r.axes else x for x, r in zip(values, residuals)]
        return eval_jaxpr(jaxpr, jaxpr.consts, *varied, *args[len(residuals) :])

    avals = [r.aval.update(shape=(1,)) if r.has_axis else r.aval for r in residuals]
    return stage(run, [*avals, *jaxpr.in_avals[len(residuals) :]], verb="partial_eval")


# Backwards


@shard_map_p.def_rule("transpose")
def shard_map_transpose(
    cts: Sequence[Value], *operands: Value, jaxpr: Jaxpr, in_specs: Specs, out_specs: Specs, **how: Any
) -> list[Value]:
    """One program computes the shards of the cotangents of the linear operands."""
    linear_mask, ct_mask = is_linear(operands), is_nonzero(cts)
    ct_specs = marked(out_specs, ct_mask)
    with body_axes(**how):
        program, nonzero = transpose_jaxpr(_varied(jaxpr, tuple(out_specs), how), linear_mask, ct_mask)
        bar_specs = marked(marked(in_specs, linear_mask), nonzero)
        program = _summed(program, [_unnamed(spec, **how) for spec in bar_specs])
        _check_summed(program, bar_specs, how["axis_names"])
    shares = [_share(ct, _unnamed(spec, **how), how["mesh"]) for ct, spec in zip(marked(cts, ct_mask), ct_specs)]
    bars = shard_map_p.bind(
        *unmarked(operands, linear_mask),
        *shares,
        jaxpr=program,
        in_specs=(*unmarked(in_specs, linear_mask), *ct_specs),
        out_specs=tuple(bar_specs),
        **how,
    )
    return merged(linear_mask, merged(nonzero, bars))


def _share(ct: Value, axes: AxisNames, mesh: AnyMesh) -> Value:
    """Return the part of a cotangent for each of the positions along some axes."""
    count = prod(mesh.shape[name] for name in axes)
    return ct if count == 1 else div(ct, count)


def _summed(jaxpr: Jaxpr, axes: Sequence[AxisNames]) -> Jaxpr:
    """Return a program whose results are summed over some axes."""
    return _with_results(jaxpr, "summed", axes, psum)


def _check_summed(jaxpr: Jaxpr, specs: Specs, axis_names: AxisNames) -> None:
    """Check that the cotangent of an operand varies along no axis along which the operand does not.

    Raises: ValueError.
    """
    for aval, spec in zip(jaxpr.out_avals, specs):
        for name in axis_names:
            if name in aval.vma and name not in spec.names:
                raise ValueError(
                    f"the transpose of shard_map{where()}: the cotangent {aval} of an operand with the spec {spec!r} "
                    f"varies over {name!r}, over which the operand does not vary. A derivative rule in the body "
                    f"returned a cotangent for each position; let it return their sum, lax.psum(ct, {name!r})."
                )


def _varied(jaxpr: Jaxpr, specs: Specs, how: How) -> Jaxpr:
    """Return a program whose results vary along the axes that their specs name, as their cotangents do."""
    axes = [_unvaried(aval, spec, **how) for aval, spec in zip(jaxpr.out_avals, specs)]
    return _with_results(jaxpr, "varied", axes, pvary)


def _with_results(jaxpr: Jaxpr, name: str, axes: Sequence[AxisNames], operation: Callable[..., Value]) -> Jaxpr:
    """Return a program with `operation(x, axes)` in place of a result, where there are axes."""
    if not any(axes):
        return jaxpr

    def run(*args: Value) -> list[Value]:
        outs = eval_jaxpr(jaxpr, jaxpr.consts, *args)
        return [operation(x, names) if names else x for x, names in zip(outs, axes)]

    key = (name, tuple(axes), *settings_key())
    return jaxpr.memo(key, lambda: stage(run, jaxpr.in_avals, verb="transpose"))  # type: ignore[no-any-return]


def _unnamed(spec: PartitionSpec, *, axis_names: AxisNames, check_vma: bool, **_: Any) -> AxisNames:
    """Return the axes along which the positions share the work: without types, all axes that the spec does not name."""
    return () if check_vma else tuple(name for name in axis_names if name not in spec.names)


def _unvaried(aval: Any, spec: PartitionSpec, *, check_vma: bool, **_: Any) -> AxisNames:
    """Return the axes that the spec of a value names, and along which its type does not vary."""
    return tuple(name for name in spec.names if name not in aval.vma) if check_vma else ()
