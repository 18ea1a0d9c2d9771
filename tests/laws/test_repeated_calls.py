"""Each function of `calque.numpy` and of `calque.nn` does at its third call what it did at its first.

At its third call with operands of the same types, a function of `nn` runs as code that its first calls gave, without
its Python; so do all functions under an eager `vjp`, `jvp` or `vmap`, and under several of these.  So the results of
the first and the last call are compared, or the words of their errors, for many kinds of arguments; most functions
refuse most of them.
"""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agreement import assert_close

import calque.nn
import calque.numpy
from calque import jacfwd, jacrev, jvp, typeof, vjp, vmap
from calque_core.engine import advance_rule_epoch
from calque_pytree import tree_leaves

ARRAYS = {
    "x": np.linspace(0.3, 1.7, 12).reshape(3, 4),
    "y": np.linspace(-1.1, 1.9, 12)[::-1].reshape(3, 4).copy(),
    "v": np.linspace(0.2, 0.9, 4),
    "s": np.array([[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 1.5]]),
}
CONSTANTS = {"places": np.array([2, 0, 1]), "mask": ARRAYS["x"] > 1.0}
ARGUMENTS = [
    ("x",), ("v",), ("s",), (["x", "y"],), ("x", "y"), ("x", "x"), ("x", "v"), ("s", "s"), ("v", "v"), ("v", "v", "v"),
    ("x", 2), ("x", 3), ("x", -1), ("v", 1), ("x", 0, 1), ("x", (4, 3)), ("x", (0,)), ("x", None, 0),
    ("x", 0.5), ("x", 0.0), ("x", -0.0), ("x", 1.5, 0.2), (2.0, "x"),
    ("x", "places"), ("places", "x"), ("x", "mask"), ("mask", "x", "y"),
]  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)}, {"ddof": 1}, {"initial": 2.0}, {"where": "mask"},
    {"dtype": "float32"}, {"order": "F"}, {"k": 1},
]  # fmt: skip
CASES = [*((args, {}) for args in ARGUMENTS), *((("x",), options) for options in OPTIONS)]
CASES += [(("x", 2), options) for options in OPTIONS[:3]]
NO_ARRAYS = {
    "frombuffer", "fromfile", "fromfunction", "from_dlpack", "info", "load", "save", "savez", "savez_compressed",
}  # fmt: skip


def functions_of(module: Any) -> dict[str, Callable[..., Any]]:
    """Return the public functions of a module by their full names."""
    values = {name: getattr(module, name) for name in sorted(set(dir(module)) - NO_ARRAYS) if not name.startswith("_")}
    return {f"{module.__name__}.{k}": v for k, v in values.items() if callable(v) and not isinstance(v, type)}


FUNCTIONS = functions_of(calque.numpy) | functions_of(calque.nn)


def chosen(spec: Any, arrays: dict[str, Any]) -> Any:
    if isinstance(spec, list):
        return [chosen(item, arrays) for item in spec]
    return arrays.get(spec, spec) if isinstance(spec, str) else spec


def call_of_arrays(name: str, args: Any, options: dict[str, Any]) -> tuple[Callable[..., Any], list[Any]]:
    """Return the call as a function of its arrays of floats, and these arrays."""
    names = sorted({spec for spec in (args[0] if isinstance(args[0], list) else args) if spec in list(ARRAYS)})

    def call(*xs: Any) -> Any:
        copies = {name: x.copy() for name, x in (ARRAYS | CONSTANTS).items()}  # NumPy's functions may write to `out`
        arrays = copies | dict(zip(names, xs))
        return FUNCTIONS[name](
            *[chosen(spec, arrays) for spec in args], **{k: chosen(v, arrays) for k, v in options.items()}
        )

    return call, [ARRAYS[each].copy() for each in names]


def of_numbers(call: Callable[..., Any], arrays: list[Any]) -> Any:
    return call(*[x.copy() for x in arrays])


def of_vjp(call: Callable[..., Any], arrays: list[Any]) -> Any:
    out, pullback = vjp(call, *arrays)
    leaves = tree_leaves(out)
    if not all(typeof(leaf).dtype == np.float64 for leaf in leaves) or len(leaves) != 1:
        return out
    return out, pullback(np.cos(np.arange(np.size(out)) + 1.0).reshape(np.shape(out)))


def of_vmap(call: Callable[..., Any], arrays: list[Any]) -> Any:
    return vmap(call)(*[np.stack([x, 1.1 * x, 0.9 * x]) for x in arrays])


def of_vjp_of_vjp(call: Callable[..., Any], arrays: list[Any]) -> Any:
    return vjp(lambda *xs: sum(map(np.sum, tree_leaves(of_vjp(call, list(xs))))), *arrays)[1](1.0)


def of_jvp(call: Callable[..., Any], arrays: list[Any]) -> Any:
    return jvp(call, arrays, [np.cos(x) for x in arrays])


def of_jvp_of_vjp(call: Callable[..., Any], arrays: list[Any]) -> Any:
    return of_jvp(lambda *xs: of_vjp(call, list(xs)), arrays)


def of_vjp_of_jvp(call: Callable[..., Any], arrays: list[Any]) -> Any:
    return of_vjp(lambda *xs: sum(map(np.sum, tree_leaves(of_jvp(call, list(xs))))), arrays)


def of_vmap_of_jvp(call: Callable[..., Any], arrays: list[Any]) -> Any:
    return of_vmap(lambda *xs: of_jvp(call, list(xs)), arrays)


def of_vmap_of_vjp(call: Callable[..., Any], arrays: list[Any]) -> Any:
    return of_vmap(lambda *xs: of_vjp(call, list(xs)), arrays)


def total_of_vmap(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: sum(map(np.sum, tree_leaves(of_vmap(call, list(xs)))))


def of_vjp_of_vmap(call: Callable[..., Any], arrays: list[Any]) -> Any:
    return of_vjp(total_of_vmap(call), arrays)


def of_jvp_of_vmap(call: Callable[..., Any], arrays: list[Any]) -> Any:
    return of_jvp(total_of_vmap(call), arrays)


def of_jacobians(call: Callable[..., Any], arrays: list[Any]) -> Any:
    """Return second derivatives of two elements of the result in two elements of the first array."""
    first, *others = arrays

    def of_two(xs: Any) -> Any:
        values = np.concatenate([xs, np.ravel(first)[2:]])
        return np.ravel(call(np.reshape(values, first.shape), *others))[:2]

    return [jacobian(jacrev(of_two))(np.ravel(first)[:2]) for jacobian in (jacfwd, jacrev)]


def outcome(run: Callable[..., Any], call: Callable[..., Any], arrays: list[Any]) -> tuple[str, Any]:
    try:
        return "", run(call, arrays)
    except Exception as error:  # noqa: BLE001  the words of any error are compared
        return re.sub("0x[0-9a-f]+", "", f"{type(error).__name__}: {error}"), None  # addresses


CALLS = {of_numbers: 4, of_vjp: 4, of_vmap: 4, of_jvp: 4}
NESTED = {of_vjp_of_vjp: 7, of_jvp_of_vjp: 7, of_vjp_of_jvp: 7, of_vmap_of_vjp: 7, of_vmap_of_jvp: 7}
NESTED |= {of_vjp_of_vmap: 7, of_jvp_of_vmap: 7, of_jacobians: 7}
RUNS = [(name, run) for name in FUNCTIONS for run in (of_vjp, of_vmap, of_jvp, *NESTED)]
RUNS += [(name, of_numbers) for name in FUNCTIONS if ".nn." in name]  # numbers alone are NumPy's matter elsewhere


@pytest.mark.filterwarnings("ignore")
@pytest.mark.sampled(keep=0.01)
@pytest.mark.parametrize(("name", "run"), RUNS, ids=[f"{name}-{run.__name__}" for name, run in RUNS])
def test_the_last_call_does_what_the_first_did(name, run):
    for args, options in CASES:
        call, arrays = call_of_arrays(name, args, options)
        if not arrays:
            continue
        advance_rule_epoch()
        words, first = outcome(run, call, arrays)
        for _ in range((CALLS | NESTED)[run] - 1):
            again, last = outcome(run, call, arrays)
        assert again == words, (args, options)
        assert_close(last, first, 1e-6 if options.get("dtype") == "float32" else 1e-12)


def peak_bytes(run: Callable[..., Any], call: Callable[..., Any], arrays: list[Any]) -> int:
    """Return the memory that a run needs at its fullest, in bytes."""
    tracemalloc.start()
    try:
        run(call, arrays)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("run", [of_numbers, of_vjp, of_vmap], ids=["numbers", "vjp", "vmap"])
@pytest.mark.parametrize("function", [np.var, calque.nn.softmax, calque.nn.glu, calque.nn.logsumexp])
def test_the_last_call_needs_no_more_memory_than_the_first(function, run):
    x = np.linspace(-1.0, 1.0, 60_000).reshape(300, 200)
    advance_rule_epoch()
    first, *_, last = [peak_bytes(run, lambda x: function(x, axis=-1), [x]) for _ in range(CALLS[run])]
    assert last <= 1.05 * first
