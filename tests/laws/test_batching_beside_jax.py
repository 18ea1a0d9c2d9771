"""Rules for batches and mapped containers give the numbers that they give in jax, where that is installed."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import calque
import calque_batching
from calque_core import lax

jax = pytest.importorskip("jax", reason="jax is not installed")
custom_batching = pytest.importorskip("jax.custom_batching", reason="this jax has no rules for batches")
batching = pytest.importorskip("jax.interpreters.batching", reason="this jax has no mapped containers")

NAMES = ("grad", "jvp", "linearize", "vmap", "jit")
RULES = ("custom_vmap", "sequential_vmap")
OURS = SimpleNamespace(
    lax=lax,
    register_vmappable=calque_batching.register_vmappable,
    **{name: getattr(calque, name) for name in (*NAMES, *RULES)},
)
THEIRS = SimpleNamespace(
    lax=jax.lax,
    register_vmappable=batching.register_vmappable,
    **{name: getattr(jax, name) for name in NAMES},
    **{name: getattr(custom_batching, name) for name in RULES},
)
XS, YS = np.linspace(0.1, 1.2, 6).reshape(2, 3), np.linspace(-1.0, 1.0, 3)


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


# Rules for batches


def product(lib):
    """Have a rule that is off by a factor, which tells the arguments that are mapped."""
    f = lib.custom_vmap(lambda x, y: lib.lax.sin(x) * y)

    @f.def_vmap
    def rule(axis_size, in_batched, x, y):
        x_batched, y_batched = in_batched
        factor = 2.0 + 3.0 * x_batched + 5.0 * y_batched
        return factor * lib.lax.sin(x) * y, x_batched or y_batched

    return f


BATCHES = {
    "vmap": lambda lib, f: lib.vmap(f)(YS, YS),
    "one argument mapped": lambda lib, f: lib.vmap(f, in_axes=(0, None))(YS, 0.5),
    "the other argument mapped": lambda lib, f: lib.vmap(f, in_axes=(None, 0))(0.5, YS),
    "nothing mapped": lambda lib, f: lib.vmap(lambda x: x + f(0.3, 0.5))(YS),
    "vmap of vmap": lambda lib, f: lib.vmap(lib.vmap(f), in_axes=(0, None))(XS, YS),
    "vmap of jit": lambda lib, f: lib.vmap(lib.jit(f))(YS, YS),
    "jit of vmap": lambda lib, f: lib.jit(lib.vmap(f))(YS, YS),
    "jvp of vmap": lambda lib, f: lib.jvp(lib.vmap(f), (YS, YS), (YS, 2.0 * YS)),
    "vmap of jvp": lambda lib, f: lib.vmap(lambda x, y: lib.jvp(f, (x, y), (y, x)))(YS, YS),
    "grad of vmap": lambda lib, f: lib.grad(lambda x: lib.vmap(f)(x, YS).sum())(YS),
    "vmap in scan": lambda lib, f: lib.lax.scan(lambda c, row: (lib.vmap(f)(c, row), c), YS, XS),
    "scan in vmap": lambda lib, f: lib.vmap(lambda x: lib.lax.scan(lambda c, y: (f(c, y), c), x, YS))(YS),
}


def in_a_loop(lib):
    return lib.sequential_vmap(lambda x, y: lib.lax.sin(x) * y)


CASES = [(make, name) for make in (product, in_a_loop) for name in BATCHES]
CASES.remove((in_a_loop, "grad of vmap"))  # an error in jax 0.10 to 0.12


@pytest.mark.parametrize(("make", "name"), CASES)
def test_a_rule_for_batches_is_used_where_jax_uses_it(make, name):
    run = BATCHES[name]
    ours, theirs = run(OURS, make(OURS)), run(THEIRS, make(THEIRS))
    for a, b in zip(calque.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, np.asarray(b), rtol=1e-12)


# Containers


@dataclass
class Named:
    """An array whose axes have names."""

    names: tuple[str, ...]
    data: Any


@dataclass(frozen=True)
class Over:
    name: str
    position: int


def to_elt(cont, get_idx, x, spec):
    i = x.names.index(spec.name)
    return Named(x.names[:i] + x.names[i + 1 :], cont(x.data, i))


def from_elt(cont, axis_size, x, spec):
    names = (*x.names[: spec.position], spec.name, *x.names[spec.position :])
    return Named(names, cont(axis_size, x.data, spec.position))


CONTAINERS = {
    "an argument": lambda lib, x: lib.vmap(lambda x: x.data.sum(), in_axes=Over("j", 0), axis_size=3)(x),
    "a result": lambda lib, x: lib.vmap(
        lambda x: Named(x.names, 2.0 * x.data), in_axes=Over("j", 0), out_axes=Over("k", 1), axis_size=3
    )(x),
    "beside an array": lambda lib, x: lib.vmap(
        lambda x, y: Named(x.names, y * x.data), in_axes=(Over("j", 0), 0), out_axes=Over("j", 0)
    )(x, YS),
}


@pytest.mark.parametrize("run", CONTAINERS.values(), ids=CONTAINERS)
def test_containers_are_mapped_as_in_jax(run):
    for lib in (OURS, THEIRS):
        lib.register_vmappable(Named, Over, int, to_elt, from_elt, None)
    try:
        ours, theirs = (run(lib, Named(("i", "j"), lib.lax.mul(XS, 1.0))) for lib in (OURS, THEIRS))
    finally:
        calque_batching.unregister_vmappable(Named)
    assert getattr(ours, "names", None) == getattr(theirs, "names", None)
    np.testing.assert_allclose(getattr(ours, "data", ours), np.asarray(getattr(theirs, "data", theirs)), rtol=1e-12)


@pytest.mark.parametrize("compile_it", [False, True])
def test_a_batch_of_containers_is_differentiated_and_compiled(compile_it):
    calque_batching.register_vmappable(Named, Over, int, to_elt, from_elt)
    try:

        def loss(data):
            sines = calque.vmap(lambda x: lax.sin(x.data).sum(), in_axes=Over("j", 0))(Named(("i", "j"), data))
            return (sines**2).sum()

        slopes = (calque.jit(calque.grad(loss)) if compile_it else calque.grad(loss))(XS)
        np.testing.assert_allclose(slopes, 2.0 * np.sin(XS).sum(axis=0) * np.cos(XS), rtol=1e-12)
    finally:
        calque_batching.unregister_vmappable(Named)
