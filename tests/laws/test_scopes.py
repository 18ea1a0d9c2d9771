"""Derivatives and batches keep the names of scopes, and the backward pass is marked."""

from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import checkpoint, grad, jvp, vjp
from calque_batching import vmap
from calque_core import Jaxpr, make_jaxpr, named_scope
from calque_core.engine import nested_jaxprs
from calque_xla_backend import jit

X = np.array([0.5, 0.25])


def loss(x):
    with named_scope("layer"):
        y = np.sin(x)
    with named_scope("head"):
        return np.sum(y * y)


def stacks(jaxpr: Jaxpr) -> set[str]:
    return {eqn.source_info.name_stack for inner in nested_jaxprs(jaxpr) for eqn in inner.eqns}


FORWARD = {
    "jvp": lambda x: jvp(loss, (x,), (x,)),
    "vmap": lambda x: vmap(loss)(np.stack([x, x])),
    "jvp of jit": lambda x: jvp(jit(loss), (x,), (x,)),
    "vmap of jit": lambda x: vmap(jit(loss))(np.stack([x, x])),
}


@pytest.mark.parametrize("fun", FORWARD.values(), ids=FORWARD)
def test_forward_transformations_keep_the_names(fun):
    names = stacks(make_jaxpr(fun)(X))
    assert {"layer", "head"} <= names <= {"layer", "head", ""}


BACKWARD = {"grad": grad(loss), "grad of jit": grad(jit(loss)), "grad of checkpoint": grad(checkpoint(loss))}


@pytest.mark.parametrize("fun", BACKWARD.values(), ids=BACKWARD)
def test_the_backward_pass_has_the_names_of_the_forward_pass(fun):
    names = stacks(make_jaxpr(fun)(X))
    assert {"layer", "head", "transpose(layer)"} <= names
    assert names <= {"layer", "head", "", "transpose(layer)", "transpose(head)", "transpose"}


def test_a_backward_pass_outside_the_scope_keeps_the_names_of_its_operations():
    def fun(x):
        with named_scope("forward"):
            y, pull = vjp(loss, x)
        with named_scope("elsewhere"):
            return pull(y)

    names = stacks(make_jaxpr(fun)(X))
    assert {"forward/layer", "forward/head", "transpose(forward/layer)"} <= names
    assert not any("elsewhere" in name for name in names)


def test_a_scope_around_a_transformation_stands_before_the_names_inside():
    def fun(x):
        with named_scope("outer"):
            return vmap(loss)(x)

    assert stacks(make_jaxpr(fun)(np.stack([X, X]))) == {"outer/layer", "outer/head"}
