"""Each law of the facade's kit catches the rule that breaks it, with and without the compiler."""

import importlib.util

import numpy as np
import pytest

from calque import lax
from calque.testing import check_primitive, check_trace
from calque_batching import moveaxis
from calque_core import Primitive, ShapedArray, Trace, config, hand_down

HAS_COMPILER = importlib.util.find_spec("calque_xla_backend") is not None
needs_compiler = pytest.mark.skipif(not HAS_COMPILER, reason="calque-xla-backend is not installed")
X = np.array([[0.5, 0.25, 1.0], [0.125, 2.0, 0.75]])


def turned(**replaced):
    """Return a linear primitive: the first axis turned by one, times 3.  Rules are replaced, or left out by None."""
    turned_p = Primitive("turned")
    turned_p.def_impl(lambda x, *, by: 3.0 * np.roll(x, by, 0))

    def jvp(primals, tangents, *, by):
        return turned_p.bind(*primals, by=by), turned_p.bind(*tangents, by=by)

    def transpose(ct, x, *, by):
        return [turned_p.bind(ct, by=-by)]

    def batch(args, dims, *, by):
        return turned_p.bind(moveaxis(args[0], dims[0], 1), by=by), 1

    rules = {
        "abstract_eval": lambda x, *, by: ShapedArray(x.shape, x.dtype),
        "decomposition": lambda x, *, by: lax.mul(3.0, rolled(x, by)),
        "jvp": jvp,
        "transpose": transpose,
        "batch": batch,
    }
    for kind, rule in (rules | replaced).items():
        if rule is not None:
            turned_p.def_rule(kind, rule)
    return turned_p


def rolled(x, by):
    by %= x.shape[0]
    tail, head = x[x.shape[0] - by :], x[: x.shape[0] - by]
    return lax.concatenate([tail, head], 0)


def broken(primitive, by=1):
    with pytest.raises(AssertionError) as caught:
        check_primitive(primitive, (X,), {"by": by})
    return str(caught.value)


def failing(text):
    return [line.split(":")[0].strip() for line in text.splitlines()[1:] if ": fails" in line]


def test_good_rules_hold():
    report = check_primitive(turned(), (X,), {"by": 1})
    assert {f.outcome for f in report.findings} == {"holds"}
    laws = [f.law for f in report.findings]
    assert laws[:6] == ["evaluate", "stage", "dead code", "decomposition", "forward", "adjoint"]
    assert {"batch of jvp", "forward of vmap", "adjoint of vjp", "stage of vmap"} <= set(laws)
    assert ("compile" in laws) == ("forward of jit" in laws) == ("compile of vmap" in laws) == HAS_COMPILER


def test_a_decomposition_alone_holds():
    report = check_primitive(turned(jvp=None, transpose=None, batch=None), (X,), {"by": 1})
    assert {f.outcome for f in report.findings} == {"holds"}


def test_a_wrong_jvp_is_caught():
    wrong = turned(jvp=lambda primals, tangents, *, by: (lax.mul(3.0, rolled(primals[0], by)), tangents[0]))
    text = broken(wrong)
    assert "turned at (float64[2,3]) breaks" in text
    assert failing(text)[0] == "forward"
    assert "the jvp of turned" in text


def test_a_jvp_with_another_value_is_caught():
    wrong = turned(jvp=lambda primals, tangents, *, by: (primals[0], lax.mul(3.0, rolled(tangents[0], by))))
    assert "the value in the jvp of turned" in broken(wrong)


def test_a_jvp_that_is_not_linear_in_its_tangent_is_caught():
    def jvp(primals, tangents, *, by):
        return lax.mul(3.0, rolled(primals[0], by)), lax.square(tangents[0])

    assert {"forward", "adjoint"} <= set(failing(broken(turned(jvp=jvp))))


def test_a_wrong_transpose_is_caught_with_the_numbers():
    wrong = turned(transpose=lambda ct, x, *, by: [lax.mul(2.0, ct)])
    text = broken(wrong)
    assert failing(text)[0] == "adjoint"
    assert "<u, J t> = " in text
    assert "the transpose rule, or a jvp rule that is not linear in its tangent, is wrong." in text


def test_a_transpose_of_another_type_is_caught():
    wrong = turned(transpose=lambda ct, x, *, by: [lax.reduce_sum(ct)])
    assert "adjoint" in failing(broken(wrong))


def test_a_batch_rule_that_forgets_the_axis_is_caught():
    wrong = turned()
    wrong.def_rule("batch", lambda args, dims, *, by: (wrong.bind(args[0], by=by), dims[0]), override=True)
    text = broken(wrong)
    assert failing(text)[0] == "batch"
    assert "vmap with in_axes=(0,) of 3 gives" in text


def test_a_batch_rule_that_names_the_wrong_axis_is_caught():
    wrong = turned()
    good = wrong.rules["batch"]
    wrong.def_rule("batch", lambda args, dims, **params: (good(args, dims, **params)[0], 0), override=True)
    assert "batch" in failing(broken(wrong))


def test_a_batch_rule_that_needs_an_element_is_caught():
    wrong = turned()
    good = wrong.rules["batch"]

    def batch(args, dims, **params):
        if args[0].size == 0:
            raise IndexError("no element")
        return good(args, dims, **params)

    wrong.def_rule("batch", batch, override=True)
    assert "batch: fails: IndexError: no element" in broken(wrong)


@needs_compiler
def test_a_wrong_lowering_is_caught():
    backend = importlib.import_module("calque_xla_backend")
    wrong = turned()
    backend.register_lowering(wrong, backend.lower_fun(lambda x, *, by: lax.mul(4.0, rolled(x, by)), False))
    text = broken(wrong)
    assert failing(text)[0] == "compile"
    assert "compile: fails: the compiled program gives" in text


def test_a_wrong_abstract_eval_is_caught():
    text = broken(turned(abstract_eval=lambda x, *, by: ShapedArray(x.shape[1:], x.dtype)))
    assert "evaluate: fails: evaluation gives (float64[2,3]), but abstract_eval says (float64[3])." in text


def test_missing_rules_and_holes_are_told_and_are_no_failures():
    bare = turned(jvp=None, transpose=None, batch=None, decomposition=None)
    bare.def_hole("jvp", "it is a measurement")
    report = check_primitive(bare, (X,), {"by": 1})
    assert report.outcome("forward") == report.outcome("adjoint") == report.outcome("batch") == "no rule"
    assert "There is none because it is a measurement." in repr(report)
    assert "Batching rule for 'turned' not implemented." in repr(report)
    assert "batch of jvp" not in repr(report)


def test_operands_that_are_not_floating_have_no_tangent():
    assert check_primitive(lax.select_n_p, (X > 0.5, X, X + 1.0)).outcome("adjoint") == "holds"
    assert check_primitive(lax.lt_p, (X, X + 1.0)).outcome("forward") == "holds"
    assert check_primitive(lax.and_p, (X > 0.5, X > 0.1)).outcome("batch") == "holds"


def test_a_derivative_of_an_integer_result_is_caught():
    count_p = Primitive("count")
    count_p.def_impl(lambda x: np.int64(x.size))
    count_p.def_abstract_eval(lambda x: ShapedArray((), np.int64))
    count_p.def_rule("jvp", lambda primals, tangents: (count_p.bind(*primals), np.float64(1.0)))
    with pytest.raises(AssertionError, match="forward: fails"):
        check_primitive(count_p, (X,))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_several_dtypes(dtype):
    assert check_primitive(lax.mul_p, (X.astype(dtype), dtype(3.0))).outcome("adjoint of vjp") == "holds"


def test_python_scalars_and_several_results():
    params = {"dimension": 0, "is_stable": True, "num_keys": 1}
    report = check_primitive(lax.sort_p, (np.array([0.5, 0.25, 1.0]), np.arange(3)), params)
    assert report.outcome("batch of vjp") == "holds"
    assert check_primitive(lax.sin_p, (0.5,)).outcome("forward of jvp") == "holds"


def test_an_operation_without_operands_has_no_derivative_and_no_batch():
    numbers_p = Primitive("numbers")
    numbers_p.def_impl(lambda: np.arange(3.0))
    numbers_p.def_abstract_eval(lambda: ShapedArray((3,), np.float64))
    report = check_primitive(numbers_p, ())
    assert report.outcome("stage") == "holds"
    assert not any(f.law.endswith("of vmap") for f in report.findings)


def test_the_kit_for_traces_is_cores():
    class Plain(Trace):
        def process_primitive(self, primitive, args, params):
            return hand_down(self.parent, primitive, args, params)

    assert check_trace(Plain).outcome("staging") == "holds"


def test_the_settings_of_the_caller_hold():
    with config.enable_x64(False):
        assert check_primitive(lax.sin_p, (np.float32(0.5),)).outcome("adjoint") == "holds"
