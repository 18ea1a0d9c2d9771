"""The primitives of `sow`, with all their rules.

One idea: a named value passes through `site`, where another value may be planted, and then `sow` reports it.  `site` is
the identity and has no effect, so a derivative that computes a value again computes its `site` again; `sow` has an
effect and no result, so it happens once, and only the transformation `harvest` sees it.  Compiled, both are nothing.

A planted value is a constant.  So the tangent of a named value passes through `site_tangent`, which is the identity
unless a value of this name is planted: then it is zero.

Read next: `sowing.py`, the functions that bind these; `harvest_trace.py`, which reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Effect, Jaxpr, Primitive, instantiate_zeros, jaxprs_in_params, moveaxis
from calque_core.extend import is_nonzero, marked, merged, unmarked

Value = Any
Params = dict[str, Any]
Dims = Sequence[int | None]

TAG = "intermediates"
MODES = ("strict", "clobber", "append")

site_p = Primitive("site", multiple_results=True)
site_tangent_p = Primitive("site_tangent", multiple_results=True)
sow_p = Primitive("sow", multiple_results=True, effects=frozenset((Effect("sow", exact=False, by_element=True),)))
sow_cotangent_p = Primitive("sow_cotangent", multiple_results=True)

IDENTITIES = (site_p, site_tangent_p, sow_cotangent_p)
MARKS = frozenset((*IDENTITIES, sow_p))


def report(leaves: Sequence[Value], params: Params) -> list[Value]:
    """Bind both primitives of a named value; return the leaves, which may be planted."""
    leaves = site_p.bind(*leaves, **params)
    sow_p.bind(*leaves, **params, partial=False)
    return leaves  # type: ignore[return-value]


def marks(jaxpr: Jaxpr) -> frozenset[tuple[str, str]]:
    """Return the tags and names in a program, and in the programs inside it."""
    make = lambda: frozenset().union(*(marks_of(eqn.primitive, eqn.params) for eqn in jaxpr.eqns))
    return jaxpr.memo("names of harvest", make)  # type: ignore[no-any-return]


def marks_of(primitive: Primitive, params: Params) -> frozenset[tuple[str, str]]:
    """Return the tags and names in an operation."""
    if primitive in MARKS:
        return frozenset(((params["tag"], params["name"]),))
    return frozenset().union(*map(marks, jaxprs_in_params(params)))


# Evaluation, types, compilation

for _primitive in IDENTITIES:
    _primitive.takes_weak = True  # a Python scalar stays one
    _primitive.def_impl(lambda *leaves, **_: list(leaves), leaf=True)
    _primitive.def_abstract_eval(lambda *avals, **_: list(avals))
    _primitive.def_rule("vma", lambda vmas, **_: list(vmas))
    _primitive.def_rule("lowering", lambda ctx, *values, **_: values)
    _primitive.def_rule("decomposition", lambda *leaves, **_: list(leaves))

sow_p.takes_weak = True
sow_p.def_impl(lambda *leaves, **_: [], leaf=True)
sow_p.def_abstract_eval(lambda *avals, **_: [])
sow_p.def_rule("lowering", lambda ctx, *values, **_: [])
sow_p.def_rule("decomposition", lambda *leaves, **_: [])


def shown(params: Params) -> Params:
    """Return the parameters that say something in a printed program."""
    usual = {"tag": TAG, "mode": "strict", "tree": None, "partial": False}
    return {name: value for name, value in params.items() if name not in usual or value != usual[name]}


for _primitive in MARKS:
    _primitive.def_pp(shown)


# Derivatives


def through(primitive: Primitive, tangents: Sequence[Value], params: Params) -> list[Value]:
    """Bind an identity on the tangents that are not zero."""
    nonzeros = is_nonzero(tangents)
    outs = primitive.bind(*marked(tangents, nonzeros), **params) if any(nonzeros) else []
    return merged(nonzeros, outs, unmarked(tangents, nonzeros))


@site_p.def_rule("jvp")
def site_jvp(primals: Sequence[Value], tangents: Sequence[Value], **params: Any) -> tuple[list[Value], list[Value]]:
    return site_p.bind(*primals, **params), through(site_tangent_p, tangents, params)


@site_p.def_rule("transpose")
def site_transpose(cts: Sequence[Value], *leaves: Value, **params: Any) -> list[Value]:
    """Pass the cotangents: a linear function has no value here that could be planted."""
    return list(cts)


@site_tangent_p.def_rule("jvp")
def site_tangent_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], **params: Any
) -> tuple[list[Value], list[Value]]:
    return site_tangent_p.bind(*primals, **params), through(site_tangent_p, tangents, params)


@site_tangent_p.def_rule("transpose")
def site_tangent_transpose(cts: Sequence[Value], *leaves: Value, **params: Any) -> list[Value]:
    return through(site_tangent_p, cts, params)


@sow_p.def_rule("jvp")
def sow_jvp(primals: Sequence[Value], tangents: Sequence[Value], **params: Any) -> tuple[list[Value], list[Value]]:
    """Report the values; their tangents are reported where the harvest is differentiated."""
    return sow_p.bind(*primals, **params), []


sow_p.def_hole("transpose", "the backward pass does not compute the values of a linear function")


@sow_cotangent_p.def_rule("jvp")
def sow_cotangent_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], **params: Any
) -> tuple[list[Value], list[Value]]:
    return sow_cotangent_p.bind(*primals, **params), through(sow_cotangent_p, tangents, params)


@sow_cotangent_p.def_rule("transpose")
def sow_cotangent_transpose(cts: Sequence[Value], *leaves: Value, **params: Any) -> list[Value]:
    """Report the cotangents that arrive; the name of a pytree has those of all its leaves."""
    return report([instantiate_zeros(ct) for ct in cts], params)


# Taylor series: the coefficients behave as tangents do.


def series_through(primitive: Primitive, series: Sequence[Sequence[Value]], params: Params) -> list[list[Value]]:
    """Bind an identity on the coefficients that are not zero, which is written None."""
    orders = [[c for c in order if c is not None] for order in zip(*series)]
    outs = [iter(primitive.bind(*order, **params) if order else []) for order in orders]
    return [[None if c is None else next(out) for c, out in zip(s, outs)] for s in series]


def def_jet(primitive: Primitive, of_coefficients: Primitive) -> None:
    primitive.def_rule(
        "jet",
        lambda primals, series, **params: (
            primitive.bind(*primals, **params),
            series_through(of_coefficients, series, params),
        ),
    )


def_jet(site_p, site_tangent_p)
def_jet(site_tangent_p, site_tangent_p)
def_jet(sow_cotangent_p, sow_cotangent_p)
sow_p.def_rule("jet", lambda primals, series, **params: (sow_p.bind(*primals, **params), []))


# Batches: a mapped value has the batch axis in front.


def in_front(args: Sequence[Value], dims: Dims) -> list[Value]:
    return [x if d is None else moveaxis(x, d, 0) for x, d in zip(args, dims)]


def def_batch(primitive: Primitive) -> None:
    def batch(args: Sequence[Value], dims: Dims, **params: Any) -> tuple[list[Value], list[int | None]]:
        outs = primitive.bind(*in_front(args, dims), **params)
        return outs, [None if d is None else 0 for d in dims][: len(outs)]

    primitive.def_rule("batch", batch)


for _primitive in MARKS:
    def_batch(_primitive)


@sow_p.def_rule("where_active")
def sow_where_active(is_active: Value, *leaves: Value, partial: bool, **params: Any) -> list[Value]:
    """Say that only some elements of a batch have the value; `harvest` refuses it."""
    return sow_p.bind(*leaves, partial=True, **params)  # type: ignore[no-any-return]
