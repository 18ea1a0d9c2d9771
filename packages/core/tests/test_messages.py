"""What users meet first when something is wrong: the words, the line, and what to write instead."""

import numpy as np
import pytest

from calque_core import ConcretizationTypeError, lax, make_jaxpr

HERE = "test_messages.py"


def test_text_of_a_value_that_is_not_known_is_its_type_in_any_format():
    seen = []
    make_jaxpr(lambda x: seen.extend([f"{x}", f"{x:.3f}", format(x, ">9"), str(x)]) or x)(np.float32(1.0))
    assert seen == ["JitTracer(float32[])"] * 4


def test_a_traced_bound_names_the_operation_that_takes_one():
    with pytest.raises(
        IndexError, match=r"Use lax\.dynamic_slice_in_dim\(x, start, size\), which takes a known number"
    ):
        make_jaxpr(lambda x, i: x[i : i + 2])(np.ones(3), 1)
    advised = make_jaxpr(lambda x, i: lax.dynamic_slice_in_dim(x, i, 2))(np.ones(3), 1)
    assert advised.out_avals[0].shape == (2,)


def test_a_traced_index_of_an_ndarray_names_what_takes_one():
    for index in (1, np.array([0, 1])):
        with pytest.raises(
            ConcretizationTypeError, match=r"To index an ndarray, use calque\.numpy\.take\(x, i, axis=0\), or calque"
        ):
            make_jaxpr(lambda i: np.ones(3)[i])(index)
    with pytest.raises(
        ConcretizationTypeError, match=r"numpy\.take ignores the class of its indices\. Use calque\.numpy\.take"
    ):
        make_jaxpr(lambda i: np.take(np.ones(3), i))(np.array([0, 1]))


@pytest.mark.parametrize("call", [
    lambda f: lax.cond(True, lambda x: x, f, 1.0),
    lambda f: lax.switch(0, [lambda x: x, f], 1.0),
    lambda f: lax.while_loop(lambda x: True, f, 1.0),
    lambda f: make_jaxpr(f)(1.0),
])  # fmt: skip
def test_a_function_of_other_arguments_is_named_with_the_place_of_the_call(call):
    def branch(x, y):
        return x

    words = (
        rf"^\w+ of branch \({HERE}:{branch.__code__.co_firstlineno}\) at {HERE}:\d+ .*missing 1 required positional "
        r"argument: 'y'\. Call it as branch\(x, y\)\."
    )
    with pytest.raises(TypeError, match=words) as caught:
        call(branch)
    assert isinstance(caught.value.__cause__, TypeError)


def test_a_type_error_of_the_function_itself_is_left_alone():
    def branch(x):
        raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine"):
        lax.cond(True, branch, branch, 1.0)


def test_no_message_speaks_of_conversions_of_types():
    with pytest.raises(ConcretizationTypeError, match=r"^float\(\) was asked of a traced value") as caught:
        make_jaxpr(float)(1.0)
    assert "ShapedArray" not in str(caught.value)
