import numpy as np
import pytest

from calque_core import debug, eval_jaxpr, lax, make_jaxpr


def test_print_formats_values_when_the_program_runs(capsys):
    def program(x):
        debug.print("x={:.2f} {name} {1} {{}}", x, lax.add(x, 1), name="is")
        return x

    with pytest.raises(ValueError, match="manual field specification"):
        program(1.0)

    def program(x):
        debug.print("x={0:.2f} {name} {1} {{}}", x, np.arange(2) + x, name="is")
        return x

    jaxpr = make_jaxpr(program)(2.0)
    assert capsys.readouterr().out == ""
    eval_jaxpr(jaxpr, jaxpr.consts, 2.0)
    program(1.0)
    assert capsys.readouterr().out == "x=2.00 is [2. 3.] {}\nx=1.00 is [1. 2.] {}\n"


def test_attributes_items_and_nested_widths_are_formatted_late(capsys):
    def program(x):
        debug.print("{0.shape} {0[1]} {d[k]:>{width}} {0!r}", x, d={"k": x[0]}, width=4)

    eval_jaxpr(jaxpr := make_jaxpr(program)(np.arange(2)), jaxpr.consts, np.arange(2))
    assert capsys.readouterr().out == "(2,) 1    0 array([0, 1])\n"
    assert [eqn.primitive.name for eqn in jaxpr.eqns][-1] == "debug_callback"


@pytest.mark.parametrize(
    ("args", "kwargs", "named"),
    [((1.0,), {}, "argument 0"), ((), {"x": 1.0}, "'x'"), ((1.0, 2.0), {"y": 3.0}, "argument 0, argument 1, 'y'")],
)
def test_an_f_string_is_found_by_its_unused_arguments(args, kwargs, named):
    message = rf"debug.print at test_debug.py:.* has no field for {named} in its format. .*do not use an f-string"
    with pytest.raises(ValueError, match=message):
        debug.print("value 1.0", *args, **kwargs)


@pytest.mark.parametrize(("fmt", "field"), [("{} {}", "1"), ("{x} {y}", "'y'"), ("{7.shape}", "7")])
def test_a_field_without_an_argument_is_named(fmt, field):
    with pytest.raises(ValueError, match=rf"debug.print at .* has no argument for the field {field} of '"):
        debug.print(fmt, 1.0, x=2.0)


def test_the_format_must_be_text():
    with pytest.raises(TypeError, match=r"debug.print at .* got a format of type float. Give a string."):
        debug.print(1.0)


def test_arguments_that_are_no_arrays_reach_the_callback():
    got = []
    marker = object()
    jaxpr = make_jaxpr(lambda x: debug.callback(lambda *a, **k: got.append((a, k)), marker, x, None, kind="s"))(1.0)
    eval_jaxpr(jaxpr, (), 1.0)
    ((args, kwargs),) = got
    assert args[0] is marker
    assert args[1:] == (1.0, None)
    assert kwargs == {"kind": "s"}


def test_results_are_ignored_and_exceptions_are_not():
    assert debug.callback(lambda x: x, 1.0) is None
    with pytest.raises(ZeroDivisionError) as caught:
        debug.callback(lambda x: 1 // int(x), 0)
    assert "This happened in the callback <lambda> (test_debug.py:" in caught.value.__notes__[0]
    assert "of debug.callback at test_debug.py:" in caught.value.__notes__[0]


def test_a_callback_must_be_a_function():
    with pytest.raises(TypeError, match=r"debug.callback got 'f' of type str"):
        debug.callback("f")
