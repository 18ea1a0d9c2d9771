from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff.verbs.checks import check_input, check_scalar_output
from calque_core import Zero, current_trace, float0, typeof
from calque_core.ops.calls.tangents import (
    check_outputs,
    check_same_structure,
    check_sequence,
    flatten_primals,
    tangent_leaves,
)
from calque_pytree import tree_structure


def leaves(avals, given):
    return tangent_leaves("vjp of f", "cotangents", avals, tree_structure(given), given)


@pytest.mark.parametrize(("given", "dtype"), [(1, "float32"), (2.5, "float64"), (1, "complex64"), (1j, "complex128")])
def test_python_scalars_take_the_dtype_that_is_needed(given, dtype):
    (leaf,) = leaves([typeof(np.zeros((), dtype))], [given])
    assert typeof(leaf).dtype == dtype
    assert leaf == given


@pytest.mark.parametrize("given", [True, 1j, np.float32(1.0), np.ones(1), np.int64(1)])
def test_other_types_are_refused(given):
    with pytest.raises(
        TypeError, match=r"the leaf \[0\] of the cotangents is .*, but float64\[\] is needed. Give it the shape"
    ):
        leaves([typeof(1.0)], [given])


def test_zeros_are_handed_through():
    zero = Zero(typeof(1.0))
    assert leaves([typeof(1.0)], [zero])[0] is zero


def test_integers_take_float0_only():
    (leaf,) = leaves([typeof(np.arange(2))], [np.zeros(2, float0)])
    assert type(leaf) is Zero
    for given in (np.zeros(3, float0), np.zeros(2), 0):
        with pytest.raises(TypeError, match=r"which has no derivative. Give numpy.zeros\(shape, calque_core.float0\)"):
            leaves([typeof(np.arange(2))], [given])


def test_structures_are_compared_before_leaves():
    with pytest.raises(
        TypeError, match=r"vjp of f: the cotangents have the structure .* but .* is needed. Give one cotangent per leaf"
    ):
        check_same_structure("vjp of f", "cotangents", tree_structure((1.0, 1.0)), (1.0,))


def test_primals_are_a_sequence_of_arrays():
    found, tree = flatten_primals("vjp", len, ({"a": 1.0}, 2.0))
    assert found == [1.0, 2.0]
    assert tree == tree_structure(({"a": 1.0}, 2.0))
    with pytest.raises(TypeError, match=r"got None as its primals. Give a tuple or a list"):
        check_sequence("jvp of f", "primals", None)


def test_outputs_are_arrays():
    check_outputs(current_trace(), [1.0, np.ones(2)])
    with pytest.raises(TypeError, match=r"the function returned \{1\} of type set, which is not an array"):
        check_outputs(current_trace(), [{1}])


def test_inputs_and_outputs_of_grad_are_floating_and_scalar():
    check_input("grad of f", "x", typeof(1.0), holomorphic=False, allow_int=False)
    check_input("grad of f", "x", typeof(1), holomorphic=False, allow_int=True)
    check_scalar_output("grad of f", 1.0, [1.0], holomorphic=False)
    with pytest.raises(TypeError, match="grad of f: x has dtype bool, which has no derivative"):
        check_input("grad of f", "x", typeof(True), holomorphic=False, allow_int=False)
    with pytest.raises(TypeError, match=r"grad of f needs a scalar output, but the function returned float64\[2\]"):
        check_scalar_output("grad of f", np.ones(2), [np.ones(2)], holomorphic=False)
