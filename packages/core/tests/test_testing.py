"""Each law of the kits catches the rule that breaks it."""

import numpy as np
import pytest

from calque_core import Primitive, ShapedArray, Trace, Tracer, hand_down, lax, typeof
from calque_core.kits.matrix import standard_primitives
from calque_core.testing import check_primitive, check_trace

X = np.array([0.5, 0.25])
COUNT = iter(range(10**6))


def primitive(**rules):
    """Return a primitive that doubles, with some of its rules replaced."""
    double_p = Primitive("double", multiple_results=rules.pop("multiple_results", False))
    double_p.def_impl(rules.pop("impl", lambda x: np.add(x, x)))
    double_p.def_abstract_eval(rules.pop("abstract_eval", lambda x: ShapedArray(x.shape, x.dtype)))
    for kind, rule in rules.items():
        double_p.def_rule(kind, rule)
    return double_p


def broken(checked, *args, **kwargs):
    with pytest.raises(AssertionError) as caught:
        check_primitive(checked, args or (X,), **kwargs)
    return str(caught.value)


def test_good_rules_hold():
    report = check_primitive(primitive(decomposition=lambda x: lax.mul(x, 2.0)), (X,))
    assert [f.law for f in report.findings] == ["evaluate", "stage", "dead code", "decomposition"]
    assert {f.outcome for f in report.findings} == {"holds"}


def test_a_decomposition_in_the_place_of_an_implementation_holds():
    made_p = Primitive("made")
    made_p.def_abstract_eval(lambda x: ShapedArray(x.shape, x.dtype))
    made_p.def_rule("decomposition", lambda x: lax.mul(x, 2.0))
    assert check_primitive(made_p, (X,)).outcome("evaluate") == "holds"


def test_a_wrong_shape_in_abstract_eval_is_caught():
    text = broken(primitive(abstract_eval=lambda x: ShapedArray((), x.dtype)))
    assert "double at (float64[2]) breaks" in text
    assert "evaluate: fails: evaluation gives (float64[2]), but abstract_eval says (float64[])." in text


def test_a_wrong_dtype_in_abstract_eval_is_caught():
    text = broken(primitive(abstract_eval=lambda x: ShapedArray(x.shape, np.float32)))
    assert "evaluation gives (float64[2]), but abstract_eval says (float32[2])." in text


def test_a_wrong_number_of_results_is_caught():
    pair_p = primitive(multiple_results=True, impl=lambda x: [x], abstract_eval=lambda x: [x, x])
    assert "evaluation gives (float64[2]), but abstract_eval says (float64[2], float64[2])." in broken(pair_p)


def test_an_implementation_that_overwrites_its_operand_is_caught():
    def overwrite(x):
        x *= 2.0
        return x + 0.0

    assert "an operand, after evaluation, gives 1.0 at [0] where 0.5 is right." in broken(
        primitive(impl=overwrite), X.copy()
    )


def test_an_implementation_that_gives_another_number_each_time_is_caught():
    assert "stage: fails: the staged program gives" in broken(primitive(impl=lambda x: x + next(COUNT)))


def test_a_wrong_dce_rule_is_caught():
    def drop_the_wrong_one(used_outputs, eqn):
        return [True], eqn.replace(outvars=[eqn.outvars[0]], primitive=lax.neg_p)

    pair_p = primitive(
        multiple_results=True,
        impl=lambda x: [x + 1.0, x + 2.0],
        abstract_eval=lambda x: [ShapedArray(x.shape, x.dtype)] * 2,
        dce=drop_the_wrong_one,
    )
    assert "dead code: fails:" in broken(pair_p)


def test_a_wrong_decomposition_is_caught():
    text = broken(primitive(decomposition=lambda x: lax.mul(x, 3.0)))
    assert "decomposition: fails: the decomposition gives 1.5 at [0] where 1.0 is right." in text


def test_what_a_rule_raises_is_told():
    def raising(x):
        raise KeyError("gone")

    assert "evaluate: fails: KeyError: 'gone'" in broken(primitive(impl=raising))


def test_a_missing_rule_is_told():
    bare_p = Primitive("bare")
    bare_p.def_impl(np.negative)
    report = check_primitive(bare_p, (X,))
    assert report.outcome("evaluate") == "holds"
    assert report.outcome("stage") == "no rule"
    assert "Abstract evaluation for 'bare' not implemented." in repr(report)


def test_parameters_reach_the_rules():
    scaled_p = Primitive("scaled")
    scaled_p.def_impl(lambda x, *, by: x * by)
    scaled_p.def_abstract_eval(lambda x, *, by: ShapedArray(x.shape, x.dtype))
    assert check_primitive(scaled_p, (X,), {"by": 3.0}).outcome("stage") == "holds"
    assert "TypeError" in broken(scaled_p)


@pytest.mark.parametrize("name", ["sin", "neg", "abs", "floor", "is_finite", "square", "sign"])
def test_the_primitives_of_the_package_pass(name):
    found = {p.name: p for p in standard_primitives()}
    check_primitive(found[name], (X,))


# Traces


class Good(Trace):
    """Hands everything down; its tracers wrap values."""

    def process_primitive(self, primitive, args, params):
        values = [x.value if isinstance(x, Wrapped) and x._trace is self else x for x in args]
        return [Wrapped(self, y) for y in hand_down(self.parent, primitive, values, params)]


class Wrapped(Tracer):
    __slots__ = ("aval", "value")

    def __init__(self, trace, value):
        self._trace, self.value = trace, value
        self.aval = typeof(value)


class Plain(Trace):
    def process_primitive(self, primitive, args, params):
        return hand_down(self.parent, primitive, args, params)


def test_a_trace_without_tracers_holds():
    report = check_trace(Plain)
    assert repr(report).startswith("Plain\n  one result: holds\n  several results: holds")
    assert {f.outcome for f in report.findings} == {"holds"}


def test_a_trace_with_tracers_holds():
    report = check_trace(Good, lift=Wrapped)
    assert {f.outcome for f in report.findings} == {"holds"}


def refused(make, lift=None):
    with pytest.raises(AssertionError) as caught:
        check_trace(make, lift)
    return str(caught.value)


def test_a_bare_result_is_caught():
    class Bare(Plain):
        def process_primitive(self, primitive, args, params):
            return super().process_primitive(primitive, args, params)[0]

    assert "one result: fails: process_primitive returned a ndarray for sin. Return a list of 1." in refused(Bare)


def test_a_lost_result_is_caught():
    class Losing(Plain):
        def process_primitive(self, primitive, args, params):
            return super().process_primitive(primitive, args, params)[:1]

    text = refused(Losing)
    assert "several results: fails: process_primitive returned a list for sort. Return a list of 2." in text
    assert "one result" not in text


def test_a_result_of_another_type_is_caught():
    class Narrowing(Plain):
        def process_primitive(self, primitive, args, params):
            outs = super().process_primitive(primitive, args, params)
            return [hand_down(self.parent, lax.reduce_sum_p, [x], {"axes": (0,)})[0] for x in outs]

    assert "sin gives (float64[]) where (float64[3]) is right." in refused(Narrowing)


def test_an_overwritten_list_of_operands_is_caught():
    class Overwriting(Plain):
        def process_primitive(self, primitive, args, params):
            outs = super().process_primitive(primitive, args, params)
            args[0] = None
            return outs

    assert "process_primitive changed the list of operands of sin. Make a new list." in refused(Overwriting)


def test_a_trace_that_works_on_values_alone_is_caught_while_staging():
    class Peeking(Plain):
        def process_primitive(self, primitive, args, params):
            for x in args:
                np.asarray(x)
            return super().process_primitive(primitive, args, params)

    text = refused(Peeking)
    assert "staging: fails: TracerArrayConversionError" in text
    assert "one result" not in text


def test_a_trace_that_does_not_nest_is_caught():
    class Alone(Good):
        def __init__(self, parent):
            super().__init__(parent)
            if isinstance(parent, Alone):
                raise RuntimeError("one at a time")

    assert "nesting: fails: RuntimeError: one at a time" in refused(Alone, Wrapped)


def test_a_trace_that_does_not_close_is_caught():
    class Lasting(Good):
        def close(self):
            pass

    assert "ending: fails: the trace is open after its block" in refused(Lasting, Wrapped)


def test_a_trace_that_does_not_process_is_caught():
    assert "one result: fails: NotImplementedError: Trace does not define process_primitive." in refused(Trace)


def test_a_block_that_is_not_left_is_caught():
    class Sticky(Plain):
        def close(self):
            super().close()
            raise KeyError("stuck")

    assert "leaving: fails: KeyError: 'stuck'" in refused(Sticky)
