"""The libraries that are compared, behind one interface, so that a row writes its program once.

One idea: a `Kit` names the functions of a library that the rows need; what the library does not have is `None`.
Read next: `programs.py`, the programs that are written against a kit.
"""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

Function = Callable[..., Any]


@dataclass(frozen=True)
class Kit:
    """One library: its elementwise functions, its transformations, its containers."""

    name: str
    lax: Any = None  # sin and mul, in the library's most direct spelling
    numpy: Any = None  # the library's functions in NumPy's spelling
    scalar: Function = np.float64  # a float as the library's own scalar
    grad: Function | None = None
    vjp: Function | None = None  # (function, x) -> (value, pullback)
    vmap: Function | None = None
    hessian: Function | None = None
    make_jaxpr: Function | None = None
    count_eqns: Function | None = None
    flatten: Function | None = None  # tree -> (leaves, treedef)
    unflatten: Function | None = None  # (leaves, treedef) -> tree
    tree_map: Function | None = None
    jit: Function | None = None
    device_put: Function | None = None
    block_until_ready: Function | None = None
    prepare_lowering: Function | None = None  # (function, *args) -> what `lower` takes: traced, not yet lowered
    lower: Function | None = None


def calque_kit() -> Kit:
    import calque
    from calque_core import count_eqns

    compiler = calque_compiler() if installed("calque_xla_backend") else {}
    return Kit(
        name="calque",
        lax=calque.lax,
        numpy=calque.numpy,
        grad=calque.grad,
        vjp=calque.vjp,
        vmap=calque.vmap,
        hessian=calque.hessian,
        make_jaxpr=calque.make_jaxpr,
        count_eqns=count_eqns,
        flatten=calque.tree.flatten,
        unflatten=lambda leaves, treedef: treedef.unflatten(leaves),
        tree_map=calque.tree.map,
        **compiler,
    )


def calque_compiler() -> dict[str, Function]:
    import calque
    import calque_xla_backend

    return {
        "jit": calque.jit,
        "device_put": calque.device_put,
        "block_until_ready": calque.block_until_ready,
        "prepare_lowering": lambda f, *args: calque.make_jaxpr(f)(*args),
        "lower": calque_xla_backend.lower_jaxpr_to_module,
    }


def jax_kit() -> Kit:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    return Kit(
        name="jax",
        lax=jax.lax,
        numpy=jax.numpy,
        scalar=jax.numpy.float32,
        grad=jax.grad,
        vmap=jax.vmap,
        hessian=jax.hessian,
        make_jaxpr=jax.make_jaxpr,
        count_eqns=lambda closed: count_jax_eqns(closed.jaxpr),
        flatten=jax.tree.flatten,
        unflatten=lambda leaves, treedef: treedef.unflatten(leaves),
        tree_map=jax.tree.map,
        jit=jax.jit,
        device_put=jax.device_put,
        block_until_ready=jax.block_until_ready,
        prepare_lowering=lambda f, *args: jax.jit(fresh(f)).trace(*args),
        lower=lambda traced: traced.lower(),
    )


def count_jax_eqns(jaxpr: Any) -> int:
    """Return the number of equations, those of inner jaxprs included, as our `count_eqns` counts."""
    import jax

    inner = jax.core.jaxprs_in_params
    return sum(1 + sum(count_jax_eqns(held) for held in inner(eqn.params)) for eqn in jaxpr.eqns)


def autograd_kit() -> Kit:
    import autograd
    import autograd.numpy

    lax = SimpleNamespace(sin=autograd.numpy.sin, mul=autograd.numpy.multiply)
    return Kit(
        name="autograd",
        lax=lax,
        numpy=autograd.numpy,
        grad=autograd.grad,
        vjp=lambda f, x: autograd.make_vjp(f)(x)[::-1],
        hessian=autograd.hessian,
    )


def torch_kit() -> Kit:
    import torch
    from torch.utils import _pytree  # it has no public spelling

    return Kit(
        name="torch",
        lax=SimpleNamespace(sin=torch.sin, mul=torch.mul),
        numpy=torch,
        scalar=lambda x: torch.tensor(x, dtype=torch.float64),
        grad=torch_grad,
        flatten=_pytree.tree_flatten,
        unflatten=_pytree.tree_unflatten,
    )


def torch_grad(f: Function) -> Function:
    """Return the gradient function of `f`, which torch spells as a method of the result."""
    import torch

    def gradient(x: Any) -> Any:
        x = x.detach().requires_grad_()
        return torch.autograd.grad(f(x), x)[0]

    return gradient


def optree_kit() -> Kit:
    import optree

    return Kit(
        name="optree",
        flatten=optree.tree_flatten,
        unflatten=lambda leaves, treedef: treedef.unflatten(leaves),
    )


def numpy_kit() -> Kit:
    return Kit(name="numpy", lax=SimpleNamespace(sin=np.sin, mul=np.multiply), numpy=np)


LOADERS = {
    "calque": calque_kit,
    "numpy": numpy_kit,
    "autograd": autograd_kit,
    "jax": jax_kit,
    "optree": optree_kit,
    "torch": torch_kit,
}


@functools.cache
def kit(name: str) -> Kit:
    """Return the kit of an installed library, which is imported now."""
    return LOADERS[name]()


def kits(*names: str) -> list[Kit]:
    """Return the kits of those libraries that are installed."""
    return [kit(name) for name in names if installed(name)]


@functools.cache
def installed(name: str) -> bool:
    """Return whether a library, and the jaxlib that it may need, can be imported."""
    needed = ("jaxlib",) if name in ("jax", "calque_xla_backend") else ()
    return all(importlib.util.find_spec(module) for module in (*needed, name))


def in_32_bits() -> Any:
    """Return a block in which calque computes in 32 bits, as jax does by default."""
    import calque_core.config

    return calque_core.config.enable_x64(False)


def fresh(f: Function) -> Function:
    """Return a function that no cache has seen: both tracers remember what they traced by the function's identity."""
    return lambda *args: f(*args)  # noqa: PLW0108 - `f` itself is what the caches know
