"""The names of scopes are part of the place of an operation."""

import pytest

from calque_core import Jaxpr, config, eval_jaxpr, interpret, jaxpr_as_fun, lax, make_jaxpr, named_call, named_scope
from calque_core.context import RESTING, here
from calque_core.frames.source import current_position, in_backward, name_stack, resolve


def layer(x):
    with named_scope("layer"):
        y = lax.sin(x)
        with named_scope("attention"):
            y = lax.cos(y)
    return lax.exp(y)


def stacks(jaxpr: Jaxpr) -> dict[str, str]:
    return {eqn.primitive.name: eqn.source_info.name_stack for eqn in jaxpr.eqns}


NAMES = {"sin": "layer", "cos": "layer/attention", "exp": ""}


def test_scopes_nest_and_end():
    assert stacks(make_jaxpr(layer)(1.0)) == NAMES


def test_a_scope_decorates_a_function_which_may_call_itself():
    @named_scope("step")
    def steps(x, n):
        return steps(lax.sin(x), n - 1) if n else lax.cos(x)

    names = [eqn.source_info.name_stack for eqn in make_jaxpr(lambda x: steps(x, 2))(1.0).eqns]
    assert names == ["step", "step/step", "step/step/step"]
    assert steps.__name__ == "steps"


def test_named_call_uses_the_name_of_the_function():
    assert stacks(make_jaxpr(named_call(layer))(1.0)) == {
        "sin": "layer/layer",
        "cos": "layer/layer/attention",
        "exp": "layer",
    }
    assert stacks(make_jaxpr(named_call(lax.sin, name="wave"))(1.0)) == {"sin": "wave"}


def test_an_operation_without_a_scope_has_a_position_of_two_words():
    assert [len(eqn.position) for eqn in make_jaxpr(layer)(1.0).eqns] == [3, 3, 2]


def test_the_line_is_the_same_with_a_scope():
    with named_scope("a"):
        info = resolve(current_position())
    assert info.name_stack == "a"
    assert info.line == test_the_line_is_the_same_with_a_scope.__code__.co_firstlineno + 2
    assert str(info).startswith(f"{__file__}:{info.line} (")


def test_an_interpreted_program_stands_inside_the_scopes_of_its_call():
    jaxpr = make_jaxpr(layer)(1.0)
    runs = {
        "eval_jaxpr": lambda x: eval_jaxpr(jaxpr, jaxpr.consts, x),
        "interpret": lambda x: interpret(jaxpr, {}, x),
        "function": jaxpr_as_fun(jaxpr),
    }
    for run in runs.values():

        def within(x, run=run):
            with named_scope("model"):
                return run(x)

        assert stacks(make_jaxpr(within)(1.0)) == {
            "sin": "model/layer",
            "cos": "model/layer/attention",
            "exp": "model",
        }


def test_the_names_in_a_branch_are_relative_to_the_equation_of_the_branch():
    def fun(x):
        with named_scope("choice"):
            return lax.cond(x > 0, layer, lax.neg, x)

    eqn = make_jaxpr(fun)(1.0).eqns[-1]
    assert eqn.source_info.name_stack == "choice"
    assert stacks(eqn.params["branches"][1]) == NAMES


def test_a_scope_that_a_rule_opens_lies_inside_the_scopes_of_its_equation():
    jaxpr = make_jaxpr(layer)(1.0)

    def cos_rule(x):
        with named_scope("rule"):
            return lax.neg(x)

    new = make_jaxpr(lambda x: interpret(jaxpr, {lax.cos_p: cos_rule}, x))(1.0)
    assert stacks(new) == {"sin": "layer", "neg": "layer/attention/rule", "exp": ""}


def test_the_backward_pass_is_named():
    with named_scope("a"), named_scope("b"):
        position = current_position()
    assert name_stack(position) == "a/b"
    assert name_stack(in_backward(position)) == "transpose(a/b)"
    assert name_stack(in_backward(current_position())) == "transpose"


def test_a_print_shows_the_names_where_there_are_any():
    text = make_jaxpr(layer)(1.0).pretty_print(name_stack=True)
    assert text == (
        "{ lambda ; a:f64[]. let\n"
        "    b:f64[] = sin a  # in layer\n"
        "    c:f64[] = cos b  # in layer/attention\n"
        "    d:f64[] = exp c\n"
        "  in (d,) }"
    )
    both = make_jaxpr(layer)(1.0).pretty_print(source_info=True, name_stack=True).splitlines()[1]
    assert both.endswith(" (layer), in layer")


def test_a_scope_ends_with_an_error_and_with_settings_around_it():
    def fail():
        with named_scope("a"), config.enable_x64(False):
            raise ZeroDivisionError(here().scopes)

    with pytest.raises(ZeroDivisionError, match=r"\('a',\)"):
        fail()
    assert here().scopes == () == RESTING.scopes


def test_an_open_scope_cannot_be_entered_again():
    scope = named_scope("a")
    with scope, pytest.raises(RuntimeError, match="this named_scope block is already entered"):
        scope.__enter__()


def test_a_name_that_is_not_a_string_is_refused():
    with pytest.raises(TypeError, match=r"named_scope at test_scopes.py:\d+ .* got 3 of type int. Give a string."):
        named_scope(3)
    with pytest.raises(ValueError, match=r"got an empty name. Give a name, such as 'layer'."):
        named_scope("")


def test_named_call_of_no_function_is_refused():
    with pytest.raises(TypeError, match=r"named_call at test_scopes\.py:\d+ .* got 3 of type int\. Give a function\."):
        named_call(3)
