import functools
import sys

import numpy as np
import pytest

import calque_pytree as pytree
from calque_core import SourceInfo, TracerArrayConversionError, jaxpr_as_fun, lax, make_jaxpr, register_internal_folder
from calque_core.frames.source import (
    current_position,
    describe_function,
    is_internal_file,
    resolve,
    user_frame,
    where,
)

HERE = "test_source.py"


def line_of(fun):
    return fun.__code__.co_firstlineno


def test_a_position_is_the_line_that_is_being_executed():
    info = resolve(current_position())
    assert info.file_name == __file__
    assert info.line == line_of(test_a_position_is_the_line_that_is_being_executed) + 1
    assert info.function.endswith("is_being_executed")
    assert str(info) == f"{__file__}:{info.line} ({info.function})"


def test_each_equation_knows_its_line_in_an_expression_of_many():
    def fun(x):
        return lax.add(
            lax.sin(x),
            lax.cos(x),
        )

    eqns = make_jaxpr(fun)(1.0).eqns
    assert {eqn.primitive.name: eqn.source_info.line - line_of(fun) for eqn in eqns} == {"sin": 2, "cos": 3, "add": 1}


def test_operators_and_numpys_functions_belong_to_the_line_that_uses_them():
    def fun(x):
        y = x * 2.0
        return np.sin(y)

    assert [eqn.source_info.line - line_of(fun) for eqn in make_jaxpr(fun)(1.0).eqns] == [1, 2]


def test_a_function_given_to_map_belongs_to_the_line_that_maps():
    def fun(x):
        return pytree.map(lax.sin, {"a": x})

    (eqn,) = make_jaxpr(fun)(1.0).eqns
    assert eqn.source_info == SourceInfo(__file__, line_of(fun) + 1, fun.__qualname__)


def test_an_interpreted_equation_keeps_its_first_place():
    jaxpr = make_jaxpr(lambda x: lax.sin(x))(1.0)
    assert make_jaxpr(jaxpr_as_fun(jaxpr))(1.0).eqns[0].source_info == jaxpr.eqns[0].source_info


def test_frames_of_a_registered_library_are_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "calque_core.frames.source._internal_folders", list(sys.modules["calque_core.frames.source"]._internal_folders)
    )
    library = tmp_path / "mylibrary"
    library.mkdir()
    file = library / "ops.py"
    file.write_text("from calque_core import lax\n\n\ndef double_sin(x):\n    return lax.sin(lax.sin(x))\n")
    scope = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)

    def fun(x):
        return scope["double_sin"](x)

    assert make_jaxpr(fun)(1.0).eqns[0].source_info.file_name == str(file)
    register_internal_folder(str(library))
    assert make_jaxpr(fun)(1.0).eqns[0].source_info == SourceInfo(__file__, line_of(fun) + 1, fun.__qualname__)
    monkeypatch.undo()
    sys.modules["calque_core.frames.source"]._skipped.clear()


def test_a_folder_is_no_prefix_of_its_sisters_names(monkeypatch):
    monkeypatch.setattr("calque_core.frames.source._internal_folders", [])
    register_internal_folder("/opt/mylibrary")
    assert is_internal_file("/opt/mylibrary/ops.py")
    assert not is_internal_file("/opt/mylibrary_user/train.py")


def test_calque_and_pytree_are_internal_and_this_file_is_not():
    assert is_internal_file(lax.__file__)
    assert is_internal_file(pytree.__file__)
    assert not is_internal_file(__file__)


@pytest.mark.parametrize(
    "call", [lambda x: np.prod([x, x]), lambda x: np.polyval([x, x], 2.0)], ids=["fromnumeric", "polynomial"]
)
def test_a_message_names_the_users_line_where_numpys_own_code_asks_for_an_array(call):
    with pytest.raises(TracerArrayConversionError, match=rf" at {HERE}:{line_of(call)} "):
        make_jaxpr(call)(1.0)


def test_scipys_frames_are_passed_over():
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is installed with jaxlib, not with core")
    with pytest.raises(TracerArrayConversionError, match=rf" at {HERE}:\d+ .*_frames_are_passed_over"):
        make_jaxpr(lambda x: optimize.rosen(x))(np.ones(2))


@pytest.mark.parametrize(
    ("module", "call", "name"),
    [
        ("scipy.special", lambda special: special.logsumexp, r"scipy\.special\.logsumexp"),
        ("scipy.stats", lambda stats: stats.norm.logpdf, r"scipy\.stats\.logpdf"),
        ("scipy.linalg", lambda linalg: linalg.norm, r"scipy\.linalg\.norm"),
        (
            "scipy.interpolate",
            lambda interpolate: lambda x: interpolate.interp1d(x, x),
            r"scipy\.interpolate\.interp1d",
        ),
    ],
    ids=["function", "method", "through NumPy", "class"],
)
def test_the_function_of_scipy_that_makes_an_array_is_named(module, call, name):
    function = call(pytest.importorskip(module, reason="SciPy is installed with jaxlib, not with core"))
    with pytest.raises(TracerArrayConversionError, match=rf"\. {name} makes NumPy's arrays .* Use calque\.scipy"):
        make_jaxpr(lambda x: function(x))(np.ones(3))


def test_a_step_of_a_counted_loop_is_the_users_function():
    def body(_, x):
        return np.ones(2)

    def count(n):
        return lax.fori_loop(0, n, body, 1.0)

    for call in (lambda: count(3), lambda: make_jaxpr(count)(3)):
        with pytest.raises(TypeError, match=rf": body \({HERE}:{line_of(body)}\) changes the type of the carry"):
            call()


def test_a_step_of_map_is_the_users_function():
    def f(x):
        return "a"

    with pytest.raises(TypeError, match=rf"^scan of f \({HERE}:{line_of(f)}\) .*returned 'a'"):
        lax.map(f, np.ones(3))


def test_the_users_frame_is_the_innermost_outside():
    assert user_frame().f_code is sys._getframe().f_code


def test_where_no_user_code_runs_there_is_no_place():
    assert resolve(None) is None
    assert where().startswith(f" at {HERE}:")


def test_where_is_empty_without_a_users_frame(monkeypatch):
    monkeypatch.setattr("calque_core.frames.source.current_position", lambda: None)
    assert where() == ""


def decorated(fun):
    @functools.wraps(fun)
    def wrapper(*args):
        return fun(*args)

    return wrapper


def loss(x):
    return x


class Model:
    def __call__(self, x):
        return x

    def step(self, x):
        return x


@pytest.mark.parametrize(
    ("fun", "name", "code"),
    [
        (loss, "loss", loss),
        (decorated(loss), "loss", loss),
        (decorated(decorated(loss)), "loss", loss),
        (functools.partial(loss, 1.0), "loss", loss),
        (functools.partial(decorated(functools.partial(loss)), 1.0), "loss", loss),
        (Model().step, "step", Model.step),
        (Model(), "Model", Model.__call__),
    ],
)
def test_a_function_is_described_by_its_name_and_the_place_of_the_users_code(fun, name, code):
    assert describe_function(fun) == f"{name} ({HERE}:{line_of(code)})"


def test_what_has_no_source_is_described_by_its_name():
    assert describe_function(len) == "len"
    assert describe_function(3) == "int"


def test_an_object_with_every_attribute_is_described_all_the_same():
    class Everything:
        def __getattr__(self, name):
            return self

    assert describe_function(Everything()) == "Everything"
