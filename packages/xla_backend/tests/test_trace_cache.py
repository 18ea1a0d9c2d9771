import gc
import weakref

from calque_core import make_jaxpr
from calque_xla_backend import jit
from calque_xla_backend.calls import trace_cache


def test_the_cache_is_weak_in_the_function():
    def f(x):
        return x + 1.0

    gc.collect()
    before = len(trace_cache._caches)
    jitted = jit(f)
    jitted(1.0)
    assert len(trace_cache._caches) == before + 1
    ref = weakref.ref(f)
    del f, jitted
    gc.collect()
    assert ref() is None
    assert len(trace_cache._caches) == before


def test_2000_dropped_lambdas_leave_nothing_behind():
    gc.collect()
    before = len(trace_cache._caches)
    for k in range(2000):
        make_jaxpr(jit(lambda x, k=k: x + k))(1.0)
    gc.collect()
    assert len(trace_cache._caches) == before


def test_callables_that_compare_equal_do_not_share_traces():
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x):
            return x * self.factor

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 1

    first, second = Scale(2.0), Scale(3.0)
    assert (jit(first)(1.0), jit(second)(1.0)) == (2.0, 3.0)


def test_a_trace_with_captured_tracers_dies_with_its_owner():
    refs = []

    def outer(x):
        inner = jit(lambda y: y + x)
        inner(x)
        inner(x)
        refs.append(weakref.ref(inner.__wrapped__))
        return x

    gc.disable()
    try:
        make_jaxpr(outer)(1.0)
    finally:
        gc.enable()
    gc.collect()
    assert refs[0]() is None
