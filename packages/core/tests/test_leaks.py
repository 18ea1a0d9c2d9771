"""`config.checking_leaks`: a tracer that outlives its trace, and the way to it."""

import gc
import subprocess
import sys
import types

import numpy as np
import pytest

from calque_core import UnexpectedTracerError, config, lax, make_jaxpr

KEPT = {}


class Model:
    seen = None

    def __init__(self):
        self.cache = []


class Slotted:
    __slots__ = ("value",)


@pytest.fixture(autouse=True)
def checking():
    with config.checking_leaks():
        yield
    KEPT.clear()
    Model.seen = None


@pytest.fixture
def few_objects():
    """Let searches pass over the objects made before the test: beside all tests of core each took 7 s, on 3.13."""
    gc.freeze()
    yield
    gc.unfreeze()


def leak(way):
    """Return the error words: the type, the place, the trace, and then the way to the tracer."""
    return pytest.raises(
        UnexpectedTracerError,
        match=r"^a traced value of type ~?float64\[\], made at test_leaks\.py:\d+ \(.*\), outlives make_jaxpr of "
        rf".* \(test_leaks\.py:\d+\): it is {way}\. Return values from a transformed function instead of storing them "
        r"in a global, an attribute, a cache or a closure\.",
    )


def test_a_global_is_named():
    def fun(x):
        KEPT["loss"] = [lax.sin(x)]
        return x

    with leak(r"KEPT\['loss'\]\[0\], where KEPT is a global of .*test_leaks"):
        make_jaxpr(fun)(1.0)


def test_an_attribute_is_named():
    model = Model()

    def fun(x):
        model.last = lax.sin(x)
        return x

    with leak(r"model\.last, where model is a variable at test_leaks\.py:\d+ \(test_an_attribute_is_named\)"):
        make_jaxpr(fun)(1.0)


def test_a_list_in_an_attribute_is_named():
    model = Model()
    with leak(r"model\.cache\[0\], where model is a variable at test_leaks\.py:\d+ \(test_a_list.*\)"):
        make_jaxpr(lambda x: model.cache.append(lax.sin(x)) or x)(1.0)


def test_an_attribute_of_an_object_whose_dict_was_asked_for_is_named():
    model = Model()
    vars(model)["deep"] = {"w": None}

    def fun(x):
        model.deep["w"] = lax.sin(x)
        return x

    with leak(r"model\.deep\['w'\], where model is a variable at .*"):
        make_jaxpr(fun)(1.0)


def test_a_slot_is_named():
    holder = Slotted()

    def fun(x):
        holder.value = lax.sin(x)
        return x

    with leak(r"holder\.value, where holder is a variable at .*"):
        make_jaxpr(fun)(1.0)


def test_a_class_is_named():
    def fun(x):
        Model.seen = lax.sin(x)
        return x

    with leak(r"Model\.seen, where Model is a class of .*test_leaks"):
        make_jaxpr(fun)(1.0)


def test_a_variable_of_a_running_function_is_named():
    kept = None

    def fun(x):
        nonlocal kept
        kept = lax.sin(x)
        return x

    with leak(r"kept, where kept is a variable at test_leaks\.py:\d+ \(test_a_variable.*\)"):
        make_jaxpr(fun)(1.0)
    assert kept is not None


def test_a_closure_is_named():
    later = []

    def fun(x):
        y = lax.sin(x)
        later.append(lambda z: z + y)
        return x

    with leak(r"later\[0\] \(closure y\), where later is a variable at .*"):
        make_jaxpr(fun)(1.0)


def test_an_argument_that_is_kept_is_found():
    kept = []
    with leak(r"kept\[0\], where kept is a variable at .*"):
        make_jaxpr(lambda x: kept.append(x) or x)(1.0)


def test_a_cycle_that_nothing_refers_to_is_no_leak(few_objects):
    def fun(x):
        cycle = [lax.sin(x)]
        cycle.append(cycle)
        return x

    make_jaxpr(fun)(1.0)


def test_a_class_that_nothing_refers_to_is_no_leak(few_objects):
    def fun(x):
        class Local:
            kept = lax.sin(x)

        return x + Local.kept

    make_jaxpr(fun)(1.0)


def test_a_result_with_an_error_of_its_own_keeps_that():
    kept = []
    with pytest.raises(ZeroDivisionError):
        make_jaxpr(lambda x: kept.append(x) or 1 // 0)(1.0)


LOOPS_AND_BRANCHES = """
import numpy as np
from calque_core import config, lax, make_jaxpr

def fun(x, y):
    inside = make_jaxpr(lambda z: z * x)(y)
    total, _ = lax.scan(lambda c, t: (c + t * x, c), x, np.ones(3))
    total = lax.cond(total > 0, lambda: total * y, lambda: total)
    return lax.while_loop(lambda s: s < 3.0, lambda s: s + y, total), len(inside.eqns)

with config.checking_leaks():
    for _ in range(2):
        make_jaxpr(fun)(1.0, 2.0)
"""


def test_loops_branches_and_programs_in_programs_leak_nothing():
    # In a process of its own, since the search looks at every object.
    subprocess.run([sys.executable, "-c", LOOPS_AND_BRANCHES], check=True)


def test_the_search_does_not_follow_its_own_lists(few_objects):
    searches = []

    def count(frame, event, function):
        if event == "c_call" and function is gc.get_referrers:
            searches.append(function)

    sys.setprofile(count)
    try:
        make_jaxpr(lambda x: lax.scan(lambda c, _: (lax.sin(c), c), x, None, length=3))(np.ones(2))
    finally:
        sys.setprofile(None)
    assert 1 <= len(searches) <= 10  # of two programs; it went on to the limit of objects, on 3.13


def test_an_attribute_of_a_module_is_named():
    module = types.ModuleType("table")
    with leak(r"module\.kept, where module is a variable at .*"):
        make_jaxpr(lambda x: setattr(module, "kept", lax.sin(x)) or x)(1.0)


def test_nothing_is_asked_without_the_setting():
    kept = []
    with config.checking_leaks(False):
        make_jaxpr(lambda x: kept.append(x) or x)(1.0)
    assert len(kept) == 1
