from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import checkpoint, checkpoint_name, print_saved_residuals, saved_residuals
from calque_autodiff import checkpoint_policies as policies
from calque_core import lax

TABLE = np.arange(3.0)


def test_each_residual_comes_with_its_type_and_its_place(called):
    def f(params, x):
        y = lax.sin(params["w"] * x)
        return called(lambda z: checkpoint_name(lax.exp(z) * 2.0, "hidden") * z)(y) * TABLE

    kept = saved_residuals(f, {"w": np.ones(3)}, np.ones(3))
    assert {aval.str_short() for aval, _ in kept} == {"f64[3]"}
    origins = [origin for _, origin in kept]
    assert "from the argument params['w']" in origins
    assert "from a constant" in origins
    assert any(origin.startswith("output of cos at ") and "test_residuals.py:" in origin for origin in origins)
    assert any(origin.startswith("named 'hidden' at ") for origin in origins)
    assert not any("jit" in origin for origin in origins)


def test_residuals_of_a_loop_are_named_as_its_body_names_them():
    def f(x, ys):
        step = lambda c, y: (checkpoint_name(lax.sin(c * y), "hidden"), None)
        return lax.scan(step, x, ys)[0]

    policy = policies.save_only_these_names("hidden")
    [_, _, (aval, origin)] = saved_residuals(checkpoint(f, policy=policy), 1.0, np.ones(4))
    assert aval.str_short() == "f64[4]"
    assert origin.startswith("named 'hidden' at ")
    assert ", in each step of the scan at " in origin


def test_each_residual_is_listed_once():
    assert len(saved_residuals(lambda x: lax.sin(x) * lax.sin(x) * x * x * x, np.ones(2))) == 8
    assert len(saved_residuals(lambda x: x * x, np.ones(2))) == 1


def test_what_is_linear_keeps_nothing():
    assert saved_residuals(lambda x, y: x + y * 2.0, 1.0, np.ones(3)) == []


def test_the_list_is_printed(capsys):
    print_saved_residuals(lambda x, y: x * y, 2.0, np.ones(3))
    assert capsys.readouterr().out == "f64[] from the argument x\nf64[3] from the argument y\n"


def test_what_is_no_array_is_refused_in_words():
    with pytest.raises(TypeError, match=r"saved_residuals of sin.*: x is 'a' of type str"):
        saved_residuals(lax.sin, "a")
    with pytest.raises(TypeError, match="saved_residuals got 3 of type int"):
        saved_residuals(3)
