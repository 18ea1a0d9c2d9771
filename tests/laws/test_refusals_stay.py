"""A bad argument is refused at each call: on arrays, on device arrays, under each transformation, in the same words.

A call that ran before becomes known code, a plan or a shortcut; none of them may lose a check of the function.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from refusals import BAD, GOOD, KNOWN, OWN
from settings_calls import FUNCTIONS, KEY

import calque.numpy as cnp
from calque import device_put, grad, jit, jvp, lax, make_jaxpr, tree, vmap
from calque_core.engine import known, unknown
from calque_core.extend import by_types

Value = Any
CALLS, LOOKED_AT = 5, (0, 2, 4)
PLACE = re.compile(r" (at|from) [^ ]+:\d+ \([^)]*\)")
ON_DEVICES = re.compile(r"Array\(|, dtype=\w+")
EXCEPTIONS = {
    ("numpy.unique", "axis"): "traced values have no distinct ones, whatever the axis",
    ("numpy.trim_zeros", "axis"): "traced values cannot be trimmed, whatever the axis",
    ("numpy.histogramdd", "bins"): "the number of a bin on a device has another text",
    ("numpy.vecdot", "axis"): "NumPy's ufunc refuses an axis of device arrays before it asks us",
    ("numpy.bincount", "weights"): "NumPy's function computes with the values of device arrays, and refuses them",
    ("numpy.bincount", "minlength"): "NumPy's function computes with the values of device arrays, and refuses them",
    **{
        (f"numpy.{name}", "order"): "NumPy's function computes with the values of device arrays, and refuses the order"
        for name in ("array", "asarray", "zeros", "ones", "zeros_like", "ones_like", "full_like")
    },
}


def words(call: Callable[[], Value]) -> str:
    """Return the class and the words of an error, without the place; 'a value' without an error."""
    try:
        call()
    except Exception as error:  # noqa: BLE001  the law compares it
        text = ON_DEVICES.sub("", PLACE.sub("", str(error)).replace("array(", ""))
        return f"{type(error).__name__}: {text}"
    return "a value"


def ways(
    function: Callable[..., Value], args: tuple[Value, ...], options: dict[str, Value], bad: Value
) -> dict[str, Any]:
    """Return the call by each way: the first array of floats that is not bad is an operand of transformations."""
    found = {"arrays": lambda: function(*args, **options)}
    placed = tree.map(lambda x: device_put(x) if isinstance(x, np.ndarray) else x, (args, options))
    found["device arrays"] = lambda: function(*placed[0], **placed[1])
    place = next((i for i, x in enumerate(args) if is_operand(x) and x is not bad), None)
    if place is None:
        return found
    x = args[place]

    def of_operand(y: Value) -> Value:
        return function(*args[:place], y, *args[place + 1 :], **options)

    def total(y: Value) -> Value:
        return sum(cnp.sum(cnp.real(leaf)) for leaf in tree.leaves(of_operand(y)))

    found["make_jaxpr"] = lambda: make_jaxpr(of_operand)(x)
    found["jit"] = lambda: jit(of_operand)(x)
    found["vmap"] = lambda: vmap(of_operand)(np.stack([x, x]))
    found["jvp"] = lambda: jvp(of_operand, (x,), (x,))
    if x.dtype.kind == "f":
        found["grad"] = lambda: grad(total)(x)
    return found


def is_operand(x: Value) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc"


def rows_of(name: str) -> Iterator[tuple[str, tuple[Value, ...], dict[str, Value], Value]]:
    """Yield the parameters of a function that have a bad value here, with arguments, options and that value."""
    function = FUNCTIONS[name]
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # of NumPy's
        return
    inputs = [OWN[name], *GOOD.values()] if name in OWN else [*GOOD.values()]
    inputs = [(KEY, *args) if name.startswith("random.") else args for args in inputs]
    taken = next((args for args in inputs if words(lambda args=args: function(*args)) == "a value"), None)
    if taken is None:
        return
    for i, parameter in enumerate(parameters):
        for bad in BAD.get(parameter.name, ()):
            if i < len(taken) and parameter.kind is not parameter.KEYWORD_ONLY:
                yield parameter.name, (*taken[:i], bad, *taken[i + 1 :]), {}, bad
            elif parameter.kind is not parameter.POSITIONAL_ONLY:
                yield parameter.name, taken, {parameter.name: bad}, bad


def against(function: Callable[..., Value], args: Any, options: Any, bad: Value, refusal: str) -> list[str]:
    """Return the ways and calls that differ from a refusal."""
    differ = []
    for way, call in ways(function, args, options, bad).items():
        for i in range(CALLS):
            got = words(call)
            if i in LOOKED_AT and got != refusal:
                differ.append(f"{way}, call {i + 1}: {got}")
    return differ


NAMES = [name for name in FUNCTIONS if not name.startswith(("lax.cond", "lax.linalg", "nn.initializers"))]


@pytest.mark.sampled(keep=0.08)
@pytest.mark.parametrize("name", NAMES)
def test_a_bad_argument_is_refused_by_each_way_and_at_each_call_in_the_same_words(name):
    differ = []
    with warnings.catch_warnings(action="ignore"):
        for parameter, args, options, bad in rows_of(name):
            refusal = words(lambda args=args, options=options: FUNCTIONS[name](*args, **options))
            if refusal == "a value" or "argument" in refusal.partition(".")[0] or (name, parameter) in EXCEPTIONS:
                continue
            found = against(FUNCTIONS[name], args, options, bad, refusal)
            differ += [f"{parameter}={bad!r}: {refusal}\n  {line}" for line in found]
    assert not differ, "\n".join(differ)


@pytest.mark.parametrize(("name", "args", "text"), KNOWN, ids=[f"{name} {i}" for i, (name, *_) in enumerate(KNOWN)])
def test_known_values_are_refused_by_each_way_and_at_each_call(name, args, text):
    function = FUNCTIONS[name]
    with warnings.catch_warnings(action="ignore"):
        refusal = words(lambda: function(*args))
        assert refusal != "a value"
        assert text in refusal
        assert not against(function, args, {}, None, refusal)


def test_a_broadcast_of_negative_sizes_is_refused():
    for _ in range(CALLS):
        with pytest.raises(ValueError, match=r"^broadcast_shapes at .* got the shape \(-1,\)\. Give sizes of zero"):
            lax.broadcast_shapes((-1,), (1,))


@pytest.mark.parametrize("position", [np.int64(99), np.array([0, -7])])
def test_known_positions_out_of_bounds_have_no_indices_on_devices_either(position):
    for _ in range(CALLS):
        with pytest.raises(ValueError, match="is out of bounds for array with size 6"):
            np.unravel_index(device_put(position), (2, 3))
        with pytest.raises(ValueError, match="invalid entry in coordinates array"):
            np.ravel_multi_index((device_put(position), device_put(np.int64(0))), (2, 3))


def test_a_range_of_elements_that_are_not_finite_is_refused_where_they_are_known():
    for x in (np.array([np.nan, 1.0]), device_put(np.array([np.inf, 1.0]))):
        for _ in range(CALLS):
            with pytest.raises(ValueError, match="Give a finite range, or finite elements"):
                cnp.histogram(x, 4)
            with pytest.raises(ValueError, match="Give a finite range"), np.errstate(all="ignore"):
                jvp(lambda y: np.histogram(y, 4)[1], (np.asarray(x),), (np.ones(2),))


OF_TANGENTS = {
    "digitize": (lambda bins: np.digitize(0.5, bins), np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])),
    "histogram": (lambda bins: np.histogram(np.ones(3), bins)[1], np.array([1.0, 2.0]), np.array([2.0, 1.0])),
    "quantile": (lambda q: np.quantile(np.ones(3), q), np.array([0.5]), np.array([1.5])),
    "percentile": (lambda q: np.percentile(np.ones(3), q), np.array([50.0]), np.array([150.0])),
}


@pytest.mark.parametrize("name", OF_TANGENTS)
@pytest.mark.parametrize("good_before", [0, 1, 5])
def test_a_value_with_a_tangent_is_checked_also_after_good_ones(name, good_before):
    function, good, bad = OF_TANGENTS[name]
    for _ in range(good_before):
        jvp(function, (good,), (good,))
        grad(lambda x: cnp.sum(function(x) * cnp.sum(x)))(good)
    for _ in range(CALLS):
        with pytest.raises(ValueError, match=r"edges|q is"):
            jvp(function, (bad,), (bad,))
        with pytest.raises(ValueError, match=r"edges|q is"):
            grad(lambda x: cnp.sum(function(x) * cnp.sum(x)))(bad)


@by_types
def growth(x):
    """Return exp(x), and refuse a known x that is not positive: a function with a check, of a user's package."""
    value = known(x)
    if value is not unknown and np.any(value <= 0):
        raise ValueError("not positive")
    return lax.exp(x)


WAYS_OF_VALUES = {
    "evaluation": lambda x: growth(x),
    "jvp": lambda x: jvp(growth, (x,), (x,)),
    "grad": lambda x: grad(lambda y: cnp.sum(growth(y)))(x),
    "value under a second derivative": lambda x: grad(lambda z: jvp(lambda y: cnp.sum(growth(y)), (z,), (z,))[1])(x),
}


@pytest.mark.parametrize("way", WAYS_OF_VALUES)
def test_a_function_with_a_check_of_known_values_never_becomes_code_without_it(way):
    call = WAYS_OF_VALUES[way]
    for _ in range(CALLS):
        call(np.array([1.0, 2.0]))
    for _ in range(CALLS):
        with pytest.raises(ValueError, match="not positive"):
            call(np.array([1.0, -2.0]))
