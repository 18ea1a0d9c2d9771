"""The ways to pass arguments to a jitted function, one claim each: by position and name, defaults, receivers, objects.

Static arguments are in `test_jit.py`, donated ones in `test_donation.py`, devices in `test_two_devices.py`.
"""

import copy
import dataclasses
import functools
import re
import threading
from functools import partial

import numpy as np
import pytest

from calque_core import lax, make_jaxpr
from calque_pytree import Partial, register_dataclass, static
from calque_xla_backend import device_put, explain, jit


def noted(notes):
    """Return a function of (x, y=2.0, *, k=0.0) that appends to `notes` each time it is traced."""

    def f(x, y=2.0, *, k=0.0):
        notes.append((x, y, k))
        return x + 10.0 * y + 100.0 * k

    return f


# By position and by name


def test_a_call_by_name_shares_the_trace_and_the_program_of_a_call_by_position():
    notes = []
    f = jit(noted(notes))
    for _ in range(2):
        assert [f(1.0, 3.0), f(1.0, y=3.0), f(x=1.0, y=3.0), f(y=3.0, x=1.0)] == [31.0] * 4
    assert len(notes) == 1
    assert f.cache_info() == (1, 1)


def test_device_arrays_by_name_share_the_program_too():
    notes = []
    f = jit(noted(notes))
    x, y = device_put(1.0), device_put(3.0)
    for _ in range(2):
        assert [f(x, y), f(x, y=y), f(y=y, x=x)] == [31.0] * 3
    assert f.cache_info() == (1, 1)


def test_a_static_argument_may_be_passed_by_name_in_the_same_program():
    notes = []
    f = jit(lambda x, n: notes.append(n) or x * n, static_argnames="n")
    assert [f(2.0, 3), f(2.0, n=3), f(n=3, x=2.0)] == [6.0] * 3
    assert notes == [3]


def test_explain_knows_a_call_in_every_spelling():
    f = jit(noted([]))
    f(1.0, 3.0)
    assert [explain(f, 1.0, y=3.0).action, explain(f, x=1.0, y=3.0).action] == ["nothing", "nothing"]


def test_a_compiled_function_takes_its_arguments_by_position_and_by_name():
    notes = []
    f = jit(noted(notes))
    compiled = f.lower(x=1.0, y=3.0).compile()
    assert [compiled(1.0, 3.0), compiled(1.0, y=3.0), compiled(y=3.0, x=1.0), f(1.0, y=3.0)] == [31.0] * 4
    assert len(notes) == 1
    scaled = jit(lambda x, n, y: x * n + y, static_argnums=1).lower(1.0, n=4, y=2.0).compile()
    assert [scaled(1.0, 2.0), scaled(1.0, y=2.0)] == [6.0, 6.0]


def test_a_name_behind_an_argument_that_is_left_out_stays_a_name():
    def f(x, y=2.0, z=3.0):
        return x + 10.0 * y + 100.0 * z

    assert [jit(f)(1.0, z=5.0), jit(f)(z=5.0, x=1.0), jit(f)(1.0, 2.0, 5.0)] == [521.0] * 3


def test_a_wrapper_is_called_as_the_user_calls_it():
    def f(x, y=2.0):
        return x + y

    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args) * (10.0 if "y" in kwargs else 1.0)

    assert jit(wrapper)(1.0, 2.0) == 3.0
    assert jit(wrapper)(1.0, y=2.0) == 30.0


def test_a_keyword_may_have_the_name_of_a_positional_only_argument():
    jitted = jit(lambda x, /, y=0.0, **more: x + y + 10.0 * more["x"])
    assert jitted(1.0, x=2.0) == 21.0
    assert jitted(1.0, y=5.0, x=2.0) == 26.0


@pytest.mark.parametrize(("args", "kwargs"), [((1.0,), {"x": 1.0}), ((1.0,), {"z": 1.0}), ((), {"y": 1.0})], ids=str)
def test_a_wrong_name_is_python_s_own_error(args, kwargs):
    f = jit(noted([]))
    f(1.0)
    with pytest.raises(TypeError, match=r"(multiple values for|unexpected keyword|missing 1 required).*argument"):
        f(*args, **kwargs)


# Defaults


def test_a_default_is_a_python_value_while_it_is_left_out():
    def f(x, negate=False, *, scale=1.0):
        return (-x if negate else x) * scale

    jitted = jit(f)
    assert [jitted(2.0), jitted(2.0, scale=3.0)] == [2.0, 6.0]
    with pytest.raises(TypeError, match="the value of the argument negate"):
        jitted(2.0, True)


def test_a_call_with_an_argument_left_out_has_a_trace_of_its_own():
    notes = []
    f = jit(noted(notes))
    for _ in range(2):
        assert [f(1.0), f(x=1.0), f(1.0, 2.0), f(1.0, y=2.0), f(1.0, k=0.0)] == [21.0] * 5
    assert len(notes) == 3
    assert [type(y) for _, y, _ in notes].count(float) == 2


def test_a_default_that_is_an_array_is_a_constant_of_the_program():
    table = np.array([1.0, 2.0])
    f = jit(lambda x, table=table: x * table)
    np.testing.assert_array_equal(f(3.0), [3.0, 6.0])
    table[:] = 0.0
    np.testing.assert_array_equal(f(3.0), [3.0, 6.0])
    np.testing.assert_array_equal(f(3.0, table), [0.0, 0.0])


def test_extra_arguments_keep_their_order_and_names():
    def f(x, *rest, k=1.0, **more):
        return [x - sum(rest), k, more]

    out = jit(f)(1.0, 2.0, 3.0, b=4.0, a=5.0)
    assert (out[0], out[1], list(out[2])) == (-4.0, 1.0, ["b", "a"])
    assert out[2] == {"a": 5.0, "b": 4.0}


# Methods


@register_dataclass
@dataclasses.dataclass
class Line:
    slope: float
    offset: float = 1.0
    sign: str = static(default="+")

    @jit
    def __call__(self, x):
        value = self.slope * x + self.offset
        return value if self.sign == "+" else -value

    @jit
    def at(self, x, power=1):
        return self(x) ** power


class Scale:
    factor = 3.0
    made: list[float] = []  # noqa: RUF012  the notes of all traces

    @partial(jit, static_argnums=0)
    def times(self, x, shift=0.0):
        self.made.append(self.factor)
        return self.factor * x + shift

    @classmethod
    @jit
    def of_class(cls, x):
        return x

    @staticmethod
    @jit
    def plain(x, y):
        return x - y


def test_a_receiver_that_is_a_pytree_is_an_argument():
    line = Line(2.0)
    assert [line(3.0), Line(4.0)(3.0), Line(2.0, sign="-")(3.0), line.at(3.0, power=2)] == [7.0, 13.0, -7.0, 49.0]
    line.slope = 5.0
    assert line(3.0) == 16.0
    assert Line.__call__.cache_info().traces == 2  # one for each sign; under the trace of `at` it is the first


def test_a_static_receiver_is_told_apart_by_identity_and_keeps_its_trace():
    one, two = Scale(), Scale()
    two.factor = 5.0
    Scale.made.clear()
    assert [one.times(2.0), two.times(2.0), one.times(x=2.0), one.times(2.0, shift=1.0)] == [6.0, 10.0, 6.0, 7.0]
    assert Scale.made == [3.0, 5.0, 3.0]


def test_a_bound_method_is_compiled_with_its_receiver_as_a_constant():
    class Counter:
        step = 2.0

        def add(self, x, y=1.0):
            return x + y * self.step

    counter = Counter()
    add = jit(counter.add)
    assert [add(1.0, 2.0), add(1.0, y=2.0), add(x=1.0, y=2.0)] == [5.0] * 3
    assert add.cache_info() == (1, 1)
    counter.step = 100.0
    assert add(1.0, 2.0) == 5.0  # as every value that a function reads while it is traced


def test_static_methods_are_functions():
    assert Scale.plain(3.0, y=1.0) == 2.0
    assert Scale().plain(x=3.0, y=1.0) == 2.0


def test_the_class_of_a_jitted_class_method_is_no_array():
    with pytest.raises(TypeError, match=r"jit of of_class .*: cls is <class '.*Scale'> of type type, which is not an"):
        Scale.of_class(1.0)


def test_a_class_method_is_compiled_bound_or_with_a_static_class():
    class Model:
        factor = 2.0

        @classmethod
        def bound(cls, x):
            return cls.factor * x

        @classmethod
        @partial(jit, static_argnums=0)
        def chosen(cls, x):
            return cls.factor * x

    class Larger(Model):
        factor = 4.0

    assert [jit(Model.bound)(1.0), jit(Larger.bound)(1.0), Model.chosen(1.0), Larger.chosen(1.0)] == [2.0, 4.0] * 2


# Partials, and callables that are pytrees


@pytest.mark.parametrize("kind", [partial, Partial])
def test_the_values_in_a_partial_are_constants_of_the_program(kind):
    weights = device_put(np.array([1.0, 2.0]))
    f = jit(kind(lambda w, x, *, k: w * x + k, weights, k=1.0))
    np.testing.assert_array_equal(f(3.0), [4.0, 7.0])
    np.testing.assert_array_equal(f(3.0, k=2.0), [5.0, 8.0])
    assert len(make_jaxpr(f)(3.0).in_avals) == 1


def test_the_leaves_of_a_callable_pytree_are_constants_as_a_function_and_inputs_as_an_argument():
    @register_dataclass
    @dataclasses.dataclass
    class Affine:
        w: float

        def __call__(self, x):
            return self.w * x

    model, calls = Affine(2.0), []
    as_function, as_argument = jit(model), jit(lambda m, x: calls.append(m) or m(x))
    assert [as_function(3.0), as_argument(model, 3.0)] == [6.0, 6.0]
    model.w = 10.0
    assert [as_function(3.0), as_argument(model, 3.0)] == [6.0, 30.0]
    assert len(calls) == 1


def test_a_partial_as_an_argument_brings_its_values_and_its_function_decides_the_trace():
    traces = []
    f = jit(lambda g, x: traces.append(g.func) or g(x))
    mul, add = np.multiply, np.add
    outs = [f(Partial(mul, 2.0), 3.0), f(Partial(mul, 5.0), 3.0), f(Partial(add, 2.0), 3.0)]
    assert outs == [6.0, 15.0, 5.0]
    assert traces == [mul, add]


# Arguments that no result depends on


def test_an_unused_argument_is_not_read_unless_keep_unused_says_so():
    free, kept = (jit(lambda x, y: y + 1.0, keep_unused=keep) for keep in (False, True))
    gone = device_put(1.0)
    gone.delete()
    assert free(gone, 2.0) == 3.0
    with pytest.raises(RuntimeError, match=r"<lambda> at .*, x: .* was used after it was deleted"):
        kept(gone, 2.0)
    assert kept(1.0, 2.0) == 3.0
    signatures = [re.search(r"@main\((.*)\) ->", f.lower(1.0, 2.0).as_text())[1] for f in (free, kept)]
    assert [signature.count("tensor<f64>") for signature in signatures] == [1, 2]


def test_options_that_are_unknown_are_refused_with_the_list():
    with pytest.raises(TypeError, match=r"keyword argument 'abstracted_axes'\. It takes fun, static_argnums, "):
        jit(abs, abstracted_axes=None)
    with pytest.raises(TypeError, match=r"'static_argnum'\. Did you mean 'static_argnums'\?"):
        jit(static_argnum=0)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"device": "cpu"}, TypeError, r"got device='cpu', which is not a device\. Use one that devices\(\) lists\."),
        ({"backend": 0}, TypeError, r"got backend=0\. Give the name of a platform, such as 'cpu'\."),
        (
            {"backend": "cpu", "inline": True},
            ValueError,
            r"got inline=True and backend='cpu', but inlined ",
        ),
        ({"static_argnums": 0, "donate_argnames": "x"}, ValueError, "the argument x is both static and donated, but"),
    ],
    ids=str,
)
def test_options_that_cannot_be_meant_are_refused_where_jit_is_called(options, error, words):
    def f(x):
        return x

    with pytest.raises(error, match=rf"^jit of f \(test_arguments\.py:\d+\):? {words}"):
        jit(f, **options)


def test_a_platform_without_devices_is_refused_at_the_call():
    f = jit(lambda x: x, backend="gpu")
    with pytest.raises(RuntimeError, match=r"jit of <lambda> at .* got backend='gpu', but .* Use one of: cpu\."):
        f(1.0)
    assert jit(lambda x: x + 1.0, backend="cpu")(1.0) == 2.0


# Threads, memory


def test_eight_threads_call_one_function_with_arguments_of_all_kinds():
    f = jit(lambda x, y=2.0: x * y)
    kinds = [
        float,
        np.float64,
        np.float32,
        int,
        device_put,
        lambda v: np.full(3, v),
        lambda v: device_put(np.full(3, v)),
    ]
    wrong = []

    def work(seed):
        for i in range(21):
            value, kind = float(seed + i), kinds[(seed + i) % len(kinds)]
            out = f(kind(value), y=3.0) if i % 2 else f(kind(value), 3.0)
            if not np.array_equal(np.asarray(out, np.float64), np.asarray(kind(value), np.float64) * 3.0):
                wrong.append((seed, i, out))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_too_large_a_result_is_a_memory_error_and_the_next_call_works():
    f = jit(lambda x, n: lax.broadcast(x, (n,)), static_argnums=1)
    for _ in range(2):
        with pytest.raises(MemoryError, match=r"^<lambda> at .*: the device has not enough memory: .*1125899906842624"):
            f(1.0, 2**47)
    np.testing.assert_array_equal(f(1.0, 2), [1.0, 1.0])


@register_dataclass
@dataclasses.dataclass
class Named:
    value: float
    data: object = static(default=())


class Changing:
    """An object that can change."""

    __hash__ = None

    def __len__(self):
        return 1


@pytest.mark.parametrize("data", [Changing(), np.ones(2), [Changing()], {"a": np.ones(2)}])
def test_static_data_that_can_change_unseen_are_refused(data):
    scaled = jit(lambda named: named.value * len(named.data))
    message = (
        r"jit of <lambda> \(test_arguments.py:\d+\) at test_arguments.py:\d+ .*: the static data \(.* of Named in "
        r"the arguments has no hash, .* Use tuples, lists or dicts of values with a hash, and a field"
    )
    for _ in range(2):
        with pytest.raises(TypeError, match=message):
            scaled([Named(1.0, data)])
    assert scaled(Named(2.0, (1, 2))) == 4.0


@pytest.mark.parametrize("by_stage", [False, True])
@pytest.mark.parametrize(
    ("data", "change"),
    [
        ([1], lambda data: data.append(2)),
        ({"a": 1}, lambda data: data.update(b=2)),
        ({1}, lambda data: data.add(2)),
        (([1],), lambda data: data[0].append(2)),
        ({"a": [1.0]}, lambda data: data["a"].append(2.0)),
    ],
)
def test_static_data_in_lists_and_dicts_are_copied_and_a_change_is_seen(data, change, by_stage):
    data, traced = copy.deepcopy(data), []

    def size(named):
        traced.append(1)
        return named.value * len(repr(named.data))

    sized, x = jit(size), device_put(2.0)
    for _ in range(20):
        assert sized(Named(x, data)) == 2.0 * len(repr(data))
    assert len(traced) == 1
    compiled = sized.lower(Named(x, data)).compile()
    assert compiled(Named(x, data)) == 2.0 * len(repr(data))
    change(data)
    if by_stage:
        with pytest.raises(TypeError, match=r"Named\(.*instead of|structure"):
            compiled(Named(x, data))
    assert sized(Named(x, data)) == 2.0 * len(repr(data))
    assert len(traced) == 2
    assert sized(Named(x, copy.deepcopy(data))) == 2.0 * len(repr(data))
    assert len(traced) == 2


def test_a_function_that_writes_to_static_data_changes_no_kept_structure():
    def appended(named):
        named.data.append(1)
        return named.value * len(named.data)

    f = jit(appended)
    assert [f(Named(1.0, [])), f(Named(1.0, [])), f(Named(1.0, [1]))] == [1.0, 1.0, 2.0]
