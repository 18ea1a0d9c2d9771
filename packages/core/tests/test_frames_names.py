"""Objects that can be called, but have no name: functions named after them, and the names of messages."""

import functools

import numpy as np
import pytest

from calque_core import jaxpr_as_fun, lax, make_jaxpr, named_scope
from calque_core.engine import name_of, named_after
from calque_core.extend import describe_function


class Nameless:
    __name__ = 5

    def __call__(self, x):
        return x * 2.0


class Silent:
    def __call__(self, x):
        return x * 2.0

    @property
    def __name__(self):
        raise RuntimeError("no name")


def test_the_name_is_that_of_the_class_where_there_is_no_text():
    assert [name_of(f) for f in (np.sin, Nameless(), Silent(), functools.partial(len))] == [
        "sin", "Nameless", "Silent", "partial",
    ]  # fmt: skip
    assert name_of(Nameless(), "") == ""
    assert describe_function(Nameless()).startswith("Nameless (test_frames_names.py:")


@pytest.mark.parametrize("fun", [Nameless(), Silent()], ids=["a number", "an error"])
def test_a_function_named_after_an_object_keeps_its_own_name(fun):
    @named_after(fun)
    def function(x):
        return fun(x)

    assert function.__name__ == "function"
    assert function.__wrapped__ is fun
    assert function(1.0) == 2.0


def test_attributes_are_taken_over_as_by_wraps():
    def model(x):
        """Model."""

    model.note = 1

    @named_after(model)
    def function(x): ...

    @named_after(model, has_attributes=False)
    def plain(x): ...

    assert (function.__name__, function.__doc__, function.note) == ("model", "Model.", 1)
    assert not hasattr(plain, "note")


@pytest.mark.parametrize(
    "use",
    [
        lambda f: jaxpr_as_fun(make_jaxpr(lambda x: f(x))(1.0))(3.0)[0],
        lambda f: named_scope("a")(f)(3.0),
        lambda f: lax.fori_loop(0, 1, lambda i, x: f(x), 3.0),
        lambda f: lax.map(f, np.full(2, 3.0))[0],
        lambda f: lax.cond(True, f, f, 3.0),
    ],
)
def test_an_object_without_a_name_is_called(use):
    assert use(Nameless()) == 6.0
