"""`config.checking_leaks` under every transformation: leaks are found, and ordinary programs have none."""

import numpy as np
import pytest
from composites import COMPOSITES
from operations import OPERATIONS

from calque import checkpoint, config, custom_jvp, custom_vjp, grad, jit, lax, linearize, make_jaxpr, vjp, vmap
from calque_autodiff import jvp
from calque_core import UnexpectedTracerError, typeof

PROGRAMS = [*(row for rows in list(OPERATIONS.values())[::8] for row in rows[:1]), *COMPOSITES[::12]]

pytestmark = pytest.mark.usefixtures("few_objects")


@pytest.fixture(autouse=True)
def checking():
    with config.checking_leaks():
        yield


@pytest.mark.parametrize(
    ("transform", "name"),
    [
        (grad, "grad"),
        (lambda f: lambda x: vmap(f)(np.array([x])), "vmap"),
        (jit, "jit"),
        (lambda f: jit(grad(f)), "grad"),
        (lambda f: lambda x: jvp(f, (x,), (x,)), "jvp"),
        (lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, length=2), "scan"),
        (lambda f: lambda x: lax.cond(x > 0.0, f, lambda x: x, x), "cond"),
        (lambda f: lambda x: linearize(f, x), "linearize"),
        (lambda f: lambda x: vjp(f, x), "vjp"),
    ],
)
def test_a_leak_is_an_error_of_the_transformation(transform, name):
    kept = []

    def loss(x):
        kept.append(x * 2.0)
        return lax.sin(x)

    with pytest.raises(
        UnexpectedTracerError,
        match=rf"^a traced value of type ~?float64\[\], made at test_leaks\.py:\d+ \(.*\), outlives {name} of .* "
        r"\(test_leaks\.py:\d+\): it is kept\[0\], where kept is a variable at test_leaks\.py:\d+ \(test_a_leak.*\)",
    ):
        transform(loss)(1.0)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_programs_leak_nothing_under_any_transformation(program):
    example = program.example(program.widest)
    leaves, moving = example.leaves, example.floating

    def run(*values):
        given = list(leaves)
        for place, value in zip(moving, values, strict=True):
            given[place] = value
        return [y for y in example(*given) if typeof(y).dtype.kind in "fc"]

    values = [leaves[i] for i in moving]
    jvp(run, values, values)
    if all(typeof(x).dtype.kind == "f" for x in [*values, *run(*values)]):
        jit(lambda *xs: vjp(run, *xs)[1](run(*xs)))(*values)
    if values:
        make_jaxpr(vmap(run))(*[np.stack([x, x]) for x in values])


def test_functions_with_rules_of_their_own_leak_nothing():
    @custom_vjp
    def cube(x):
        return x**3

    cube.defvjp(lambda x: (x**3, x), lambda x, x_bar: (3 * x**2 * x_bar,))

    @custom_jvp
    def sine(x):
        return lax.sin(x)

    sine.defjvp(lambda primals, tangents: (lax.sin(*primals), lax.cos(*primals) * tangents[0]))
    loss = checkpoint(lambda x, w: lax.scan(lambda c, t: (sine(c) * cube(t) * w, c), x, np.ones(3))[0])
    assert np.isfinite(jit(grad(loss))(0.5, 2.0))
    assert vmap(grad(lambda x: sine(x) * cube(x)))(np.ones(2)).shape == (2,)
