"""Checkpoints beside every other transformation: values, and what is computed again and kept, when compiled too."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from agreement import assert_close

from calque_autodiff import (
    checkpoint,
    checkpoint_name,
    custom_jvp,
    custom_vjp,
    grad,
    jvp,
    linearize,
    saved_residuals,
    vjp,
)
from calque_autodiff import checkpoint_policies as policies
from calque_batching import vmap
from calque_core import eval_jaxpr, lax, make_jaxpr
from calque_core.lax import jit_p
from calque_xla_backend import jit
from calque_xla_backend.runtime.placement import placement
from calque_xla_backend.runtime.runtime import compile_module, compile_options

X = np.linspace(-0.9, 0.8, 3)
POLICIES = [
    None,
    policies.everything_saveable,
    policies.dots_saveable,
    policies.save_only_these_names("hidden"),
    policies.save_anything_except_these_names("hidden"),
]
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=policies.policy_name)


def compiled(fun, *args):
    """Return the executable of a function."""
    return compile_module(jit(fun).lower(*args).compiler_ir(), placement(), compile_options(placement()))


def text_of(fun, *args):
    """Return what XLA makes of a function, after it has optimized it."""
    return compiled(fun, *args).hlo_modules()[0].to_string()


# Values


def model(x):
    def step(c, y):
        hidden = checkpoint_name(lax.sin(c * y), "hidden")
        return jit(lambda h: lax.cos(h) * c)(hidden), lax.exp(hidden)

    c, ys = lax.scan(step, x, lax.broadcast(x, (4,)))
    return lax.cond((c * c).sum() > 0.1, lambda z: checkpoint_name(lax.sin(z), "hidden") * z, lax.cos, c), ys


COMPOSITIONS = {
    "grad of jit": lambda f: grad(loss(jit(f))),
    "jit of grad": lambda f: jit(grad(loss(f))),
    "vmap of grad": lambda f: lambda x: vmap(grad(loss(f)))(np.stack([x, 2.0 * x])),
    "grad of vmap": lambda f: grad(loss(lambda x: vmap(f, axis_size=2, in_axes=None)(x))),
    "jvp of grad": lambda f: lambda x: jvp(grad(loss(f)), (x,), (np.ones(3),)),
    "grad of jvp": lambda f: grad(lambda x: loss(lambda y: jvp(f, (y,), (lax.cos(y),)))(x)),
    "grad of grad": lambda f: grad(lambda x: (grad(loss(f))(x) * X).sum()),
    "linearize in jit": lambda f: jit(lambda x: linearize(f, x)[1](x)),
    "vjp in vmap": lambda f: lambda x: vmap(lambda y: vjp(loss(f), y)[1](1.0))(np.stack([x, -x])),
}


def loss(f):
    def scalar(x):
        outs = f(x)
        leaves = [leaf for out in outs for leaf in (out if isinstance(out, tuple) else (out,))]
        return sum(lax.reduce_sum(lax.square(leaf)) for leaf in leaves)

    return scalar


@pytest.mark.sampled(keep=0.1, rows=["name"])
@each_policy
@pytest.mark.parametrize("name", COMPOSITIONS)
def test_a_checkpoint_changes_no_value(name, policy):
    compose = COMPOSITIONS[name]
    got = compose(checkpoint(model, policy=policy))(X)
    assert_close(tuple(got) if isinstance(got, list) else got, compose(model)(X), 1e-12)


# What is compiled


def keeps_barriers():
    """Tell whether XLA respects a barrier: some releases drop all of them when they compile for the CPU."""
    both = lambda x: lax.sin(x) + lax.sin(lax.optimization_barrier(x))
    return text_of(both, np.ones(8)).count(" sine(") == 2


def gradient_of_products(rematted):
    def chain(x):
        for _ in range(3):
            x = lax.sin(x) @ x
        return x

    outer = lambda x: lax.reduce_sum(rematted(chain)(x))
    return lambda x: (outer(x), grad(outer)(x))


def test_the_second_computation_stands_behind_a_barrier_to_the_first():
    text = lambda rematted: jit(gradient_of_products(rematted)).lower(np.ones((4, 4))).as_text()
    apart, together = text(checkpoint), text(partial(checkpoint, prevent_cse=False))
    assert apart.count("stablehlo.sine") == together.count("stablehlo.sine") > 3
    assert apart.count("stablehlo.optimization_barrier") == 1
    assert together.count("stablehlo.optimization_barrier") == 0


def test_the_compiler_does_not_undo_the_second_computation():
    if not keeps_barriers():
        pytest.skip("this release of XLA drops all barriers on the CPU")
    sines = lambda rematted: text_of(gradient_of_products(rematted), np.ones((4, 4))).count(" sine(")
    assert sines(partial(checkpoint, prevent_cse=False)) == sines(lambda f: f) == 3
    assert sines(checkpoint) == 6


def test_a_loop_of_checkpointed_steps_takes_less_memory():
    def step(c, w):
        for _ in range(4):
            c = lax.tanh(c @ w)
        return c, None

    def temporary_bytes(f):
        scalar = lambda ws, x: lax.reduce_sum(lax.scan(f, x, ws)[0])
        return (
            compiled(grad(scalar), np.ones((20, 32, 32)), np.ones((32, 32)))
            .get_compiled_memory_stats()
            .temp_size_in_bytes
        )

    everything, carries = temporary_bytes(step), temporary_bytes(checkpoint(step))
    assert carries < everything / 2


def test_repeated_calls_compile_nothing_anew():
    programs = []

    def compiler(jaxpr, args):
        if not any(jaxpr is known for known in programs):
            programs.append(jaxpr)
        return eval_jaxpr(jaxpr, jaxpr.consts, *args)

    inner = make_jaxpr(lambda x: lax.sin(checkpoint_name(lax.exp(x), "hidden")))(1.0)
    called = lambda x: jit_p.bind(x, jaxpr=inner, name="f", compiler=compiler)[0]
    for policy in POLICIES:
        gradient = grad(checkpoint(called, policy=policy))
        gradient(1.0)
        count = len(programs)
        for _ in range(3):
            gradient(1.0)
        assert len(programs) == count


def test_derivatives_on_device_arrays_are_those_of_numpy():
    x = jit(lambda x: x)(X)
    f = loss(checkpoint(lambda x: (lax.sin(x) * x,)))
    np.testing.assert_allclose(np.asarray(grad(f)(x)), grad(f)(X), 1e-14)


# Beside derivative rules of the user's own


def own_jvp():
    own = custom_jvp(lambda x: lax.sin(x) * x)
    own.defjvp(lambda primals, tangents: (own(*primals), 3.0 * tangents[0] * lax.cos(primals[0])))
    return own


def own_vjp():
    own = custom_vjp(lambda x: lax.sin(x) * x)
    own.defvjp(lambda x: (own(x), lax.cos(x)), lambda cosine, ct: (3.0 * cosine * ct,))
    return own


@pytest.mark.sampled(keep=0.2)
@each_policy
@pytest.mark.parametrize("make", [own_jvp, own_vjp])
def test_a_checkpoint_keeps_derivative_rules(make, policy):
    own, want = make(), 3.0 * np.cos(X)
    rematted = checkpoint(lambda x: own(x) * 1.0, policy=policy)
    looped = lambda x: lax.scan(lambda c, _: (rematted(c), None), x, None, length=1)[0]
    for f in (rematted, jit(rematted), checkpoint(jit(own), policy=policy), checkpoint(rematted), looped):
        for gradient in (grad(f), jit(grad(f))):
            np.testing.assert_allclose(np.asarray(vmap(gradient)(X)), want, 1e-14)


def test_a_derivative_rule_may_be_checkpointed():
    own = custom_vjp(lambda x: checkpoint(lax.sin)(x))
    rule = checkpoint(lambda x, ct: lax.cos(x) * ct)
    own.defvjp(lambda x: (checkpoint(lax.sin)(x), x), lambda x, ct: (rule(x, ct),))
    for f in (own, checkpoint(own), jit(own)):
        np.testing.assert_allclose(grad(f)(0.5), np.cos(0.5), 1e-14)
        np.testing.assert_allclose(grad(grad(f))(0.5), -np.sin(0.5), 1e-14)


# Beside jax


def layers(lib, name, x, w):
    hidden = name(lib.sin(x @ w), "hidden")
    hidden = name(lib.cos(hidden @ w), "second")
    return lib.sin(hidden) * x


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        ("everything_saveable", None),
        ("nothing_saveable", None),
        ("dots_saveable", None),
        ("checkpoint_dots_with_no_batch_dims", None),
        ("save_only_these_names", ("hidden",)),
        ("save_only_these_names", ("hidden", "second")),
        ("save_any_names_but_these", ("hidden",)),
    ],
)
def test_as_many_residuals_are_kept_as_jax_keeps(make, arguments):
    jax = pytest.importorskip("jax", reason="jax is not installed")
    theirs_of = pytest.importorskip("jax._src.ad_checkpoint", reason="jax has it elsewhere").saved_residuals
    of = lambda module: getattr(module, make) if arguments is None else getattr(module, make)(*arguments)
    square = np.ones((2, 2), np.float32)
    ours = saved_residuals(
        checkpoint(lambda x, w: layers(lax, checkpoint_name, x, w), policy=of(policies)), square, square
    )
    name = pytest.importorskip("jax.ad_checkpoint").checkpoint_name
    program = jax.checkpoint(lambda x, w: layers(jax.lax, name, x, w), policy=of(jax.checkpoint_policies))
    theirs = theirs_of(program, square, square)
    assert len(ours) == len(theirs)
