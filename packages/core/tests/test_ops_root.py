"""The primitive of `custom_root`; the function is in calque_autodiff, which linearizes."""

import numpy as np
import pytest

from calque_core import ShapedArray, check_jaxpr, dce_jaxpr, eval_jaxpr, interpret, lax, stage
from calque_core.lax import custom_root_p

SCALAR, VECTOR = ShapedArray((), "float64"), ShapedArray((2,), "float64")


def program(fun, *avals):
    return stage(fun, avals)


# The root of x * x - a, with a value that only the second auxiliary result needs.
ROOT = {
    "f": program(lambda a, c, x: [x * x - a], VECTOR, SCALAR, VECTOR),
    "solve": program(lambda a, c, x: [lax.sqrt(a), x[0], lax.sin(c)], VECTOR, SCALAR, VECTOR),
    "tangent_solve": program(lambda a, c, x, y: [y / (2.0 * x)], VECTOR, SCALAR, VECTOR, VECTOR),
    "num_consts": 2,
}
ARGS = np.array([4.0, 9.0]), 0.0, np.ones(2)


def staged(**changes):
    return stage(lambda a, c, x: custom_root_p.bind(a, c, x, **ROOT | changes), [VECTOR, SCALAR, VECTOR])


def test_the_root_is_that_of_the_solver():
    jaxpr = staged()
    check_jaxpr(jaxpr)

    for root, first, other in (custom_root_p.bind(*ARGS, **ROOT), eval_jaxpr(jaxpr, (), *ARGS)):
        assert root.tolist() == [2.0, 3.0]
        assert (first, other) == (1.0, 0.0)


def test_unused_aux_is_dropped_and_what_only_it_needs():
    smaller, used_inputs = dce_jaxpr(staged(), [True, True, False])
    check_jaxpr(smaller)

    assert used_inputs == [True, False, True]
    assert smaller.eqns[0].params["num_consts"] == 1
    assert [x.tolist() for x in eval_jaxpr(smaller, (), ARGS[0], ARGS[2])] == [[2.0, 3.0], 1.0]


def test_an_interpreter_goes_into_the_solver():
    assert interpret(staged(), {lax.sqrt_p: np.negative}, *ARGS)[0].tolist() == [-4.0, -9.0]


@pytest.mark.parametrize("name", ["f", "solve", "tangent_solve"])
def test_programs_that_leave_the_space_of_the_guess_are_refused(name):
    wrong = stage(lambda *args: [args[-1][:1]], ROOT[name].in_avals)
    with pytest.raises(TypeError, match=rf"^{name} of custom_root returned \(float64\[1\]\) for a vector of"):
        staged(**{name: wrong})


@pytest.mark.parametrize("name", ["f", "solve", "tangent_solve"])
def test_programs_of_other_operands_are_refused(name):
    wrong = stage(lambda x: [x], [VECTOR])
    with pytest.raises(
        TypeError,
        match=(
            rf"^{name} of custom_root got operands of types \(float64\[2\], float64\[\], float64\[2\].*, but its "
            "progr"
        ),
    ):
        staged(**{name: wrong})
