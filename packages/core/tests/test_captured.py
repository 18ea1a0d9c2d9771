import functools

import numpy as np
import pytest

from calque_core import Trace, Tracer, current_trace, hand_down, make_jaxpr, tracing
from calque_core.jaxprs.captured import captured_tracers, cells_of, search_for_tracers


class Holder:
    def __init__(self, value):
        self.value = value

    def method(self, x):
        return x * self.value


def closing(x):
    return lambda y: x * y


def by_default(x):
    return lambda y, z=x: y * z


def by_keyword_default(x):
    return lambda y, *, z=x: y * z


def by_attribute(x):
    def f(y):
        return y * f.factor

    f.factor = x
    return f


def nested(x):
    inner = closing(x)
    return lambda y: inner(y) + 1.0


HOLDERS = {
    "itself": lambda x: x,
    "a closure": closing,
    "a default": by_default,
    "a keyword default": by_keyword_default,
    "an attribute of a function": by_attribute,
    "a closure in a closure": nested,
    "a bound object": lambda x: Holder(x).method,
    "an object": Holder,
    "a partial": lambda x: functools.partial(max, x),
    "a keyword of a partial": lambda x: functools.partial(max, key=x),
    "a dict": lambda x: {"w": x},
    "a list in a tuple": lambda x: ([x],),
    "a set of objects": lambda x: {Holder(x)},
    "a decorated function": lambda x: functools.wraps(len)(closing(x)),
    "a cycle": lambda x: cyclic([x]),
}


def cyclic(items):
    items.append(items)
    return items


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_a_traced_value_is_found_in(hold):
    found = []

    def f(x):
        found.extend(t is x for t in captured_tracers([hold(x)]))
        return x

    make_jaxpr(f)(1.0)
    assert found == [True]


@pytest.mark.parametrize("held", [None, "text", 1.0, np.ones(3), np, len, Holder, {}, lambda x: x])
def test_nothing_is_found_in_what_holds_no_traced_value(held):
    assert captured_tracers([held, lambda: held]) == []


def test_a_value_that_is_held_twice_is_found_once_and_the_order_is_that_of_the_objects():
    orders = []

    def f(x, y):
        orders.append([t is x for t in captured_tracers([closing(y), [x, y], x])])
        return x

    make_jaxpr(f)(1.0, 2.0)
    assert orders == [[False, True]]


def test_values_of_a_trace_that_has_ended_are_passed_over():
    leaked = []
    make_jaxpr(lambda x: leaked.append(x) or x)(1.0)
    assert captured_tracers([leaked]) == []


class PairTracer(Tracer):
    def __init__(self, trace, value):
        super().__init__(trace)
        self.value, self.aval = value, value.aval

    @property
    def inner_values(self):
        return (self.value,)


class PairTrace(Trace):
    def process_primitive(self, primitive, args, params):
        return hand_down(self.parent, primitive, args, params)


def test_of_values_that_the_current_trace_does_not_see_their_parts_are_found():
    found = []

    def f(x):
        with tracing(PairTrace(current_trace())) as above:
            pair = PairTracer(above, x)
            found.append(captured_tracers([closing(pair)]) == [pair])
            with tracing(above.parent):
                found.append(captured_tracers([closing(pair)]) == [x])
        return x

    make_jaxpr(f)(1.0)
    assert found == [True, True]


def test_objects_without_traced_values_are_not_searched():
    searches = []

    def f(x, y):
        skipped, searched = closing(x), closing(y)
        searches.append((search_for_tracers([[skipped, searched]], [skipped]), skipped, y))
        return x

    make_jaxpr(f)(1.0, 2.0)
    [(search, skipped, y)] = searches
    assert len(search.tracers) == 1
    assert search.tracers[0] is y
    assert not any(x is skipped for x in search.objects)


def test_the_search_ends_in_a_structure_that_makes_itself_anew():
    class Endless:
        @property
        def __dict__(self):
            return {"next": Endless()}

    assert captured_tracers([Endless()]) == []


def test_variables_that_have_no_value_yet_are_no_cells():
    def make():
        def inner():
            return later

        before = cells_of(inner)
        later = 1.0
        return before, cells_of(inner)

    assert make() == ([], [1.0])
    assert cells_of(len) == []
