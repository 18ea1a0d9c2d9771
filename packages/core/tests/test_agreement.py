import numpy as np
import pytest

from calque_core import Primitive, ShapedArray, is_tracer, lax
from calque_core.testing import Operand, check_calls, check_types


def test_operations_of_core_agree():
    check_calls(lax.add, [[Operand(1.0), Operand("text"), Operand(10**40)], [Operand(np.ones(2)), None]])
    for dtype in (bool, np.int8, np.float32):
        check_types(lax.sin, np.ones(2, dtype))


def test_a_call_that_is_refused_only_while_it_is_traced_is_named():
    def choosy(x, size):
        if is_tracer(x):
            raise ValueError("no tracers")
        return np.ones(size)

    words = (
        r"^choosy\(1\.0, 3\) gives \[\(\(3,\), dtype\('float64'\)\)\], but \(.*ValueError.*'no tracers'\) while it is"
    )
    with pytest.raises(AssertionError, match=words):
        check_calls(choosy, [[Operand("text"), Operand(1.0)], [3]])


def test_a_result_of_another_dtype_is_named():
    words = r"float32.*, but .*float64.* while it is traced\. Make them agree\.$"
    with pytest.raises(AssertionError, match=words):
        check_calls(lambda x: lax.sin(x) if is_tracer(x) else np.float32(x), [[Operand(np.float64(1.0))]])


def test_an_error_that_nobody_foresaw_is_a_fault_although_both_calls_raise_it():
    words = r"raises IndexError: tuple index out of range\. Check the arguments before their use\.$"
    with pytest.raises(AssertionError, match=words):
        check_calls(lambda x, pair: pair[2], [[Operand(1.0)], [(1, 2)]])


def primitive_with(impl):
    made_p = Primitive("made")
    made_p.def_abstract_eval(lambda x: ShapedArray(x.shape, "float32"))
    made_p.def_impl(impl)
    return made_p.bind


@pytest.mark.parametrize(
    ("impl", "words"),
    [
        (lambda x: x, r"^evaluation gives .*float64.*, but the type rules give .*float32.*\. Make them agree\.$"),
        (lambda x: np.ones(3, np.float32), r"^evaluation gives .*\(3,\)\), but the type rules give .*\(2,\)\)"),
        (lambda x: [1.0], r"^evaluation gives \[1\.0\], which is not an array of NumPy\. Return one\.$"),
    ],
)
def test_an_evaluation_of_another_type_than_the_rule_s_is_named(impl, words):
    with pytest.raises(AssertionError, match=words):
        check_types(primitive_with(impl), np.ones(2))


def test_a_refusal_of_evaluation_alone_is_named():
    def refuse(x):
        raise ValueError("no")

    with pytest.raises(AssertionError, match=r"^evaluation gives <class 'ValueError'>, but the type rules give "):
        check_types(primitive_with(refuse), np.ones(2))
