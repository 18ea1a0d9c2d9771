"""Static arguments are one thing: chosen, refused and passed in the same way wherever a transformation takes them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

from calque_autodiff import checkpoint, custom_jvp, custom_rules, custom_vjp, grad
from calque_core import eval_jaxpr, is_tracer, lax, make_jaxpr
from calque_xla_backend import jit


def with_jvp_rule(fun, **options):
    """Return a function whose rule scales the tangent by 3."""
    f = custom_jvp(fun, **options)
    f.defjvp(lambda n, primals, tangents: (primals[0], 3.0 * tangents[0]))
    return f


def with_vjp_rule(fun, **options):
    f = custom_vjp(fun, **options)
    f.defvjp(lambda x, n: (x, None), lambda n, residuals, ct: (3.0 * ct,))
    return f


ENTRIES = {
    "make_jaxpr": make_jaxpr,
    "checkpoint": checkpoint,
    "custom_jvp": with_jvp_rule,
    "custom_vjp": with_vjp_rule,
    "custom_rules": custom_rules,
    "jit": jit,
}
WITHOUT_A_HASH = ENTRIES.keys() - {"jit"}


def power(x, n):
    return x


POWER = rf"power \(test_static_arguments\.py:{power.__code__.co_firstlineno}\)"


@pytest.fixture(params=ENTRIES)
def entry(request):
    return request.param


def trace(entry, fun, options, *args, **kwargs):
    """Trace a call of `fun` through a transformation; arguments are passed as they are."""
    transformed = ENTRIES[entry](fun, **options)
    return make_jaxpr(lambda: (transformed(*args, **kwargs), 1.0)[1])()


# The choice

REFUSED = {
    "out of range": (
        {"static_argnums": (0, 2)},
        ValueError,
        (
            r"got static_argnums=\(0, 2\), but the function has 2 positional arguments\. Count from 0, or choose the "
            r"argument by static_argnames\."
        ),
    ),
    "below the range": (
        {"static_argnums": -3},
        ValueError,
        r"got static_argnums=-3, but the function has 2 positional",
    ),
    "twice": (
        {"static_argnums": (1, -1)},
        ValueError,
        r"got static_argnums=\(1, -1\), which names an argument twice\. Name each argument once\.",
    ),
    "no int": ({"static_argnums": "n"}, TypeError, r"got static_argnums='n'\. Give an int or a tuple of ints\."),
    "a bool": ({"static_argnums": (0, True)}, TypeError, r"got static_argnums=\(0, True\)\. Give an int or a tuple of"),
    "no parameter": (
        {"static_argnames": ("n", "m")},
        ValueError,
        r"got static_argnames='m', which is no argument of the function\. Name one of: x, n\.",
    ),
    "no string": (
        {"static_argnames": (1,)},
        TypeError,
        r"got static_argnames=\(1,\)\. Give a name, or a tuple of names",
    ),
    "no names": ({"static_argnames": 1}, TypeError, r"got static_argnames=1\. Give a name, or a tuple of names\."),
}


@pytest.mark.parametrize(("options", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_choice_is_refused_at_once_in_the_same_words(entry, options, error, words):
    with pytest.raises(error, match=rf"^{entry} of {POWER} {words}"):
        ENTRIES[entry](power, **options)


CHOICES = [
    {"static_argnums": 1}, {"static_argnums": (-1,)}, {"static_argnames": "n"}, {"static_argnames": ["n"]},
    {"static_argnums": (), "static_argnames": "n"}, {"static_argnums": 1, "static_argnames": "n"},
]  # fmt: skip


@pytest.mark.parametrize("options", CHOICES, ids=str)
@pytest.mark.parametrize("by_name", [False, True], ids=["by position", "by name"])
def test_a_chosen_argument_is_static_however_the_call_passes_it(entry, options, by_name):
    seen, value = [], "fast"

    def f(x, n):
        seen.append((is_tracer(x), n))
        return x

    jaxpr = trace(entry, f, options, 1.0, n=value) if by_name else trace(entry, f, options, 1.0, value)
    assert set(seen) == {(True, value)}, jaxpr


def test_a_static_argument_with_a_default_may_be_left_out(entry):
    seen = []

    def f(x, n="default"):
        seen.append(n)
        return x

    trace(entry, f, {"static_argnames": "n"}, 1.0)
    assert set(seen) == {"default"}


# Values


class Incomparable:
    """Has no hash, and an == that no cache may call."""

    __hash__ = None

    def __eq__(self, other):
        raise AssertionError("compared")


class Window(NamedTuple):
    size: int
    options: dict[str, int]


@dataclass(frozen=True)
class Scheme:
    name: str
    weights: tuple[np.ndarray, ...]
    notes: list[str] = field(default_factory=list, compare=False)


VALUES = {
    "a list": (
        [1, 2],
        r"is \[1, 2\] of type list, which has no hash \(unhashable type: 'list'\)\. Pass a hashable value,",
    ),
    "a tuple of tuples": (
        (1, ("a", [2])),
        r"is \(1, \('a', \[2\]\)\) of type tuple, .*because its part n\[1\]\[1\] is \[2\] of type list",
    ),
    "a named tuple": (
        Window(3, {"a": 1}),
        r"is Window\(.*because its part n\.options is \{'a': 1\} of type dict\.",
    ),
    "a frozen dataclass": (
        Scheme("rk", (np.ones(2),)),
        r"is Scheme\(.*because its part n\.weights\[0\] is array\(\[1\., 1\.\]\) of type ndarray\.",
    ),
    "an object": (Incomparable(), r"is <.*Incomparable object.* of type Incomparable, which has no hash"),
    "an array": (
        np.ones(2),
        r"is array\(\[1\., 1\.\]\), an array, which has no hash\. Pass a Python value, or do not make",
    ),
}


@pytest.mark.parametrize(("value", "words"), VALUES.values(), ids=VALUES)
def test_a_value_without_a_hash_is_passed_as_it_is_or_refused_by_name(entry, value, words):
    seen = []

    def f(x, n):
        seen.append(n)
        return x

    if entry in WITHOUT_A_HASH:
        trace(entry, f, {"static_argnums": 1}, 1.0, value)
        trace(entry, f, {"static_argnums": 1}, 1.0, value)
        assert seen
        assert all(n is value for n in seen)
    else:
        here = r"f \(test_static_arguments\.py:\d+\) at test_static_arguments\.py:\d+ \(.*\)"
        with pytest.raises(TypeError, match=rf"^{entry} of {here}: the static argument n {words}"):
            trace(entry, f, {"static_argnums": 1}, 1.0, value)


class NeverEqual:
    def __eq__(self, other):
        raise ZeroDivisionError("no comparison")

    def __hash__(self):
        return 0


def test_a_value_whose_comparison_raises_is_passed_as_it_is_or_refused_by_name(entry):
    transformed = ENTRIES[entry](power, static_argnums=1)
    call = lambda: make_jaxpr(lambda: (transformed(1.0, NeverEqual()), 1.0)[1])()
    call()
    if entry in WITHOUT_A_HASH:
        call()
    else:
        words = (
            r"two values of the static argument n, of type NeverEqual, cannot be compared, because NeverEqual\.__eq__"
        )
        with pytest.raises(TypeError, match=rf"^{entry} of {POWER} at test_static_arguments\.py:\d+ \(.*\): {words}"):
            call()


def test_a_traced_value_is_passed_as_it_is_or_refused_by_name(entry):
    def scaled(x, n):
        return x * n

    transformed = ENTRIES[entry](scaled, static_argnums=1)
    around = lambda n: (transformed(2.0, n), n)[1]
    if entry in WITHOUT_A_HASH:
        assert make_jaxpr(around)(1.0).out_avals
    else:
        tracer = re.escape("JitTracer(~float64[])")
        words = rf": the static argument n is {tracer}, an array, which has no hash\. Pass a Python value, or do not"
        with pytest.raises(TypeError, match=rf"^{entry} of scaled \(.*\) at .*{words}"):
            make_jaxpr(around)(1.0)


@pytest.mark.parametrize("entry", ["checkpoint", "custom_rules"])
def test_the_value_of_a_traced_static_argument_counts(entry):
    transformed = ENTRIES[entry](lambda x, n: lax.sin(x) * n, static_argnums=1)
    derivative = make_jaxpr(lambda n: grad(transformed)(0.0, n))(1.0)
    assert eval_jaxpr(derivative, derivative.consts, 5.0) == [5.0]  # cos(0) * n
