"""What the rules of an author get: tuples of operands, tangents and batch axes, wherever a rule is called from.

One idea: a primitive notes the class of each collection that its rules get, and every route to a rule is taken until
the operation is known.  The cotangents of several results are a list, as the results are.
"""

from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import checkpoint, custom_jvp, custom_vjp, grad, jvp, linear_transpose, linearize
from calque_batching import custom_vmap, vmap
from calque_core import (
    Primitive,
    ShapedArray,
    ValueTrace,
    current_trace,
    dce_jaxpr,
    instantiate_zeros,
    is_undefined_primal,
    jaxpr_as_fun,
    lax,
    make_jaxpr,
    tracing,
    typeof,
)
from calque_core.extend import JaxprTrace
from calque_jet import jet
from calque_xla_backend import hlo, jit

XS = np.array([2.0, 3.0, 4.0])
MEETINGS = 25  # an operation is known after 20


class Noting:
    """The product of two numbers as a primitive with every rule; `classes` has the classes of what rules got."""

    def __init__(self, multiple_results, leaf, batch_kind="batch"):
        self.classes = {}
        self.is_list = multiple_results
        self.primitive = p = Primitive("noting", multiple_results)
        p.def_impl(lambda x, y: self.packed(np.multiply(x, y)), leaf=leaf)
        p.def_abstract_eval(lambda x, y: self.packed(ShapedArray(x.shape or y.shape, x.dtype)))
        p.def_rule("lowering", lambda ctx, x, y: [hlo.MulOp(x, y).result])
        p.def_rule("jvp", self.jvp)
        p.def_rule("transpose", self.transpose)
        p.def_rule(batch_kind, self.batch if batch_kind == "batch" else lambda axis, *rest: self.batch(*rest))

    def packed(self, x):
        return [x] if self.is_list else x

    def __call__(self, x, y):
        out = self.primitive.bind(x, y)
        return out[0] if self.is_list else out

    def square(self, x):
        return self(self(x, x), x * 1.0)

    def note(self, kind, *collections):
        self.classes.setdefault(kind, set()).update(map(type, collections))

    def jvp(self, primals, tangents):
        self.note("jvp", primals, tangents)
        (x, y), (x_dot, y_dot) = primals, map(instantiate_zeros, tangents)
        return self.packed(self(x, y)), self.packed(self(x_dot, y) + self(x, y_dot))

    def transpose(self, ct, x, y):
        if self.is_list:
            self.note("transpose", ct)
            (ct,) = ct
        return [self(ct, y), None] if is_undefined_primal(x) else [None, self(x, ct)]

    def batch(self, args, dims):
        self.note("batch", args, dims)
        size = max(typeof(x).shape[0] for x, d in zip(args, dims) if d is not None)
        x, y = [lax.broadcast_in_dim(x, (size,), ()) if d is None else x for x, d in zip(args, dims)]
        return self.packed(self(x, y)), self.packed(0)


def looped(f):
    return lambda x: lax.scan(lambda c, _: (f(c), c), x, None, length=3)[0]


def counted(f):
    return lambda x: lax.fori_loop(0, 3, lambda i, c: f(c), x)


def branched(f):
    return lambda x: lax.cond(x > 2.0, f, f, x)


DERIVATIVES = {
    "jvp": lambda f: jvp(f, (2.0,), (1.0,)),
    "jvp of a loop": lambda f: jvp(counted(f), (2.0,), (1.0,)),
    "grad": lambda f: grad(f)(2.0),
    "grad of grad": lambda f: grad(grad(f))(2.0),
    "grad of an array": lambda f: grad(lambda x: lax.reduce_sum(f(x)))(XS),
    "grad of jit": lambda f: grad(jit(f))(2.0),
    "grad of scan": lambda f: grad(looped(f))(2.0),
    "grad of cond": lambda f: grad(branched(f))(2.0),
    "grad of checkpoint": lambda f: grad(checkpoint(f))(2.0),
    "grad of vmap": lambda f: grad(lambda x: lax.reduce_sum(vmap(f)(x)))(XS),
    "vmap of grad": lambda f: vmap(grad(f))(XS),
    "linearize": lambda f: linearize(f, 2.0)[1](1.0),
    "jit of grad": lambda f: jit(grad(f))(2.0),
    "make_jaxpr of grad": lambda f: make_jaxpr(grad(f))(2.0),
    "a replayed jaxpr": lambda f: grad(lambda x: jaxpr_as_fun(make_jaxpr(f)(2.0))(x)[0])(2.0),
    "jet": lambda f: jet(f, (2.0,), ((1.0, 0.0, 0.0),)),
}
BATCHES = {
    "vmap": lambda f: vmap(f)(XS),
    "vmap of jit": lambda f: vmap(jit(f))(XS),
    "vmap of scan": lambda f: vmap(looped(f))(XS),
    "vmap of a loop": lambda f: vmap(counted(f))(XS),
    "vmap of cond": lambda f: vmap(branched(f))(XS),
    "vmap of grad": lambda f: vmap(grad(f))(XS),
    "jit of vmap": lambda f: jit(vmap(f))(XS),
    "make_jaxpr of vmap": lambda f: make_jaxpr(vmap(f))(XS),
    "jvp of vmap": lambda f: jvp(vmap(f), (XS,), (XS,)),
    "a replayed jaxpr": lambda f: vmap(jaxpr_as_fun(make_jaxpr(f)(2.0)))(XS),
}


@pytest.fixture(params=[(False, False), (False, True), (True, False), (True, True)], ids=str)
def form(request):
    """Whether the primitive has several results, and whether its implementation is a leaf."""
    return request.param


@pytest.mark.parametrize("route", DERIVATIVES)
@pytest.mark.sampled(keep=0.5)
def test_jvp_rules_get_tuples(form, route):
    noting = Noting(*form)
    for _ in range(MEETINGS):
        DERIVATIVES[route](noting.square)
    assert noting.classes["jvp"] == {tuple}


@pytest.mark.parametrize("kind", ["batch", "axis_batch"])
@pytest.mark.parametrize("route", BATCHES)
@pytest.mark.sampled(keep=0.4)
def test_batching_rules_get_tuples(form, route, kind):
    noting = Noting(*form, batch_kind=kind)
    for _ in range(MEETINGS):
        BATCHES[route](noting.square)
    assert noting.classes["batch"] == {tuple}


@pytest.mark.parametrize("route", ["grad", "grad of scan", "jit of grad", "make_jaxpr of grad"])
def test_the_cotangents_of_several_results_are_a_list(route):
    noting = Noting(True, True)
    for _ in range(MEETINGS):
        DERIVATIVES[route](noting.square)
        linear_transpose(lambda x: noting(x, 3.0), 2.0)(1.0)
    assert noting.classes["transpose"] == {list}


# Kinds of rules that few primitives need


def test_a_jet_rule_gets_tuples():
    p, got = Primitive("noting"), []

    @p.def_rule("jet")
    def noting_jet(primals, series):
        got.extend(map(type, (primals, series)))
        return primals[0], series[0]

    jet(p.bind, (2.0,), ((1.0, 0.0),))
    assert got == [tuple, tuple]


def test_a_partial_eval_rule_gets_a_tuple_of_known_operands():
    p, got = Primitive("noting"), []
    p.def_impl(lambda x, *, scale: np.multiply(x, scale))
    p.def_abstract_eval(lambda x, *, scale: x.strip_weak_type())
    p.def_rule("jvp", lambda primals, tangents, **params: (p.bind(*primals, **params), p.bind(*tangents, **params)))
    p.def_rule("transpose", lambda ct, x, **params: [p.bind(ct, **params)])

    @p.def_rule("partial_eval")
    def noting_partial_eval(known, x, **params):
        got.append(known)
        return JaxprTrace.process_primitive(current_trace(), p, [x], params)[0]

    assert grad(lambda x: p.bind(x, scale=2.0))(3.0) == 2.0
    assert got == [(False,)]


def test_a_dce_rule_gets_a_tuple_of_used_outputs():
    p, got = Primitive("noting", multiple_results=True), []
    p.def_abstract_eval(lambda x: [x, x])

    @p.def_rule("dce")
    def noting_dce(used_outputs, eqn):
        got.append(used_outputs)
        return [True], eqn

    dce_jaxpr(make_jaxpr(lambda x: p.bind(x)[0])(1.0), [True])
    assert got == [(True, False)]


def test_a_vma_rule_gets_a_tuple_of_sets_of_axes():
    p, got = Primitive("noting"), []
    p.def_abstract_eval(lambda x: x)
    p.def_rule("vma", lambda vmas: got.append(vmas) or vmas)
    p.abstract(ShapedArray((), np.float64, vma={"i"}))
    assert got == [(frozenset({"i"}),)]


def test_a_value_trace_and_its_value_rules_get_tuples():
    p, got = Primitive("noting"), []
    p.def_abstract_eval(lambda x: x)

    class Noting(ValueTrace):
        def lift(self, x):
            return x

        def apply(self, primitive, values, params):
            got.append(type(values))
            return [values[0]]

    with tracing(Noting(current_trace())) as trace:
        p.bind(lax.sin(trace.wrap(1.0, typeof(1.0))))
        p.def_rule("value", lambda trace, args: [got.append(type(args)) or args[0]])
        jaxpr_as_fun(make_jaxpr(p.bind)(1.0))(trace.wrap(1.0, typeof(1.0)))
    assert got == [tuple, tuple, tuple]


# Custom rules


def test_the_rules_of_custom_functions_get_tuples():
    got = []

    @custom_jvp
    def times(x, y):
        return x * y

    @times.defjvp
    def times_jvp(primals, tangents):
        got.extend(map(type, (primals, tangents)))
        (x, y), (x_dot, y_dot) = primals, tangents
        return times(x, y), x_dot * y + x * y_dot

    @custom_vjp
    def minus(x, y):
        return x - y

    def minus_bwd(residuals, ct):
        got.append(type(residuals))
        return ct, -ct

    minus.defvjp(lambda x, y: (x - y, (x, y)), minus_bwd)

    @custom_vmap
    def plus(x, y):
        return x + y

    @plus.def_vmap
    def plus_vmap(axis_size, in_batched, *args):
        assert type(in_batched) is list  # as jax's is
        got.append(type(args))
        return plus(*args), True

    for _ in range(MEETINGS):
        f = lambda x: plus(minus(times(x, 2.0), x), x)
        vmap(f)(XS)
        vmap(grad(looped(f)))(XS)
        jit(grad(f))(2.0)
        jvp(lambda x: times(x, 2.0), (2.0,), (1.0,))
    assert set(got) == {tuple}
