"""A setting of promotion, of 32 bits, of NaNs or of checks concerns the operations of the user's program alone.

Every public function of NumPy's front, of `lax`, `nn`, `random` and `scipy` is called, by name, on the inputs that it
takes, eagerly and traced: under a setting it gives the value that it gives without, or refuses operands that the user
gave, by the name of the function.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from settings_calls import CALLS, EXCLUDED, FUNCTIONS, INPUTS, KEY, MODULES, SINGLE

from calque import checkpoint, config, custom_jvp, jit, make_jaxpr, shard_map
from calque_core import AbstractMesh, eval_jaxpr, typeof
from calque_core import PartitionSpec as P
from calque_pytree import tree_leaves

Value = Any
SETTINGS: dict[str, Callable[[], Any]] = {
    "ranks": lambda: config.numpy_rank_promotion("raise"),
    "dtypes": lambda: config.numpy_dtype_promotion("strict"),
    "checks": lambda: config.enable_checks(),
    "nans": lambda: config.debug_nans(),
    "32 bits": lambda: config.enable_x64(False),
}
# Without a setting NumPy's own functions compute for NumPy's arrays, and take more: the law compares our functions.
OURS = lambda: config.default_matmul_precision("float32")
MAY_REFUSE = {  # by setting: the inputs whose operands differ, and the words of the refusal
    "ranks": (("two ranks",), "numpy_rank_promotion is 'raise'"),
    "dtypes": (("two dtypes", "integers and floats", "a choice"), "numpy_dtype_promotion is 'strict'"),
}
OTHER_NAMES = {  # operators of `lax` in the place of NumPy's names
    "numpy.equal": "eq", "numpy.not_equal": "ne", "numpy.greater": "gt", "numpy.greater_equal": "ge",
    "numpy.less": "lt", "numpy.less_equal": "le", "numpy.maximum": "max", "numpy.minimum": "min",
    "numpy.multiply": "mul", "numpy.subtract": "sub", "numpy.mod": "remainder", "numpy.pow": "power",
    "numpy.divide": "true_divide", "numpy.atan2": "arctan2", "numpy.bitwise_and": "and", "numpy.bitwise_or": "or",
    "numpy.bitwise_xor": "xor", "numpy.bitwise_left_shift": "left_shift", "numpy.bitwise_right_shift": "right_shift",
    "numpy.concat": "concatenate", "numpy.vstack": "concatenate", "numpy.hstack": "concatenate",
}  # fmt: skip
EXCEPTIONS = {
    ("checks", "numpy.choose"): "checks that traced indices are in bounds",
    ("nans", "random.geometric"): "probabilities above 1, whose logarithm is NaN before it becomes an integer",
    ("nans", "random.triangular"): "a mode outside of the bounds",
    ("32 bits", "lax.clz"): "it counts the bits of its dtype",
    ("32 bits", "numpy.spacing"): "the spacing of another dtype",
    ("32 bits", "numpy.finfo"): "the limits of another dtype",
    ("32 bits", "numpy.diag_indices"): "NumPy's own function, which knows no settings",
    ("32 bits", "numpy.tril_indices"): "NumPy's own function, which knows no settings",
    ("32 bits", "numpy.triu_indices"): "NumPy's own function, which knows no settings",
    ("32 bits", "numpy.mask_indices"): "NumPy's own function computes it, which knows no settings",
    ("32 bits", "numpy.roots"): "the order of the roots is that of an eigenvalue solver",
    ("32 bits", "lax.linalg.schur"): "the order of the eigenvalues is that of the solver",
    ("32 bits", "scipy.linalg.schur"): "the order of the eigenvalues is that of the solver",
    ("32 bits", "scipy.linalg.rsf2csf"): "two matrices that are no Schur form",
    ("32 bits", "scipy.linalg.eigh"): "the signs of vectors are those of the solver",
}
SHORT_NAME = {name: name.rpartition(".")[2] for name in FUNCTIONS}


def inputs_of(name: str) -> Iterator[tuple[str, Callable[[], Value]]]:
    """Yield the calls of a function: its own, and those on each input."""
    function = FUNCTIONS[name]
    if name in CALLS:
        yield "its own call", lambda: CALLS[name](function)
        yield "its own call, traced", lambda: run(make_jaxpr(lambda: CALLS[name](function))())
    for label, args in INPUTS.items():
        given = (KEY, *args) if name.startswith("random.") else args
        yield label, lambda given=given: function(*given)
        yield f"{label}, traced", lambda given=given: run(make_jaxpr(function)(*given), *tree_leaves(given))


def run(program: Any, *args: Value) -> Value:
    given = [in_type(x, v.aval) for x, v in zip(args, program.invars, strict=True)]
    return eval_jaxpr(program, program.consts, *given)


def in_type(x: Value, aval: Any) -> Value:
    """Return an argument as a program of 32 bits takes it."""
    return x.astype(aval.dtype) if isinstance(x, (np.ndarray, np.generic)) else x


def outcome(call: Callable[[], Value], setting: Callable[[], Any]) -> Value:
    """Return the value of a call under a setting, or the error that it raises."""
    with warnings.catch_warnings(action="ignore"), setting():
        try:
            return call()
        except Exception as error:  # noqa: BLE001  the law compares it
            return error


def arrays_of(tree: Value) -> list[np.ndarray]:
    """Return the numbers among the leaves of a result."""
    leaves = [x for x in tree_leaves(tree) if isinstance(x, (bool, int, float, complex)) or hasattr(x, "__array__")]
    return [x for x in map(np.asarray, leaves) if x.dtype.kind in "biufc"]


def has_nan(tree: Value) -> bool:
    return any(np.isnan(x).any() for x in arrays_of(tree) if x.dtype.kind in "fc")


def difference(name: str, setting: str, label: str, got: Value, want: Value) -> str:
    """Return what the law says against the outcome of a call under a setting, or ''."""
    if isinstance(got, Exception):
        allowed, words = MAY_REFUSE.get(setting, ((), ""))
        called = OTHER_NAMES.get(name, SHORT_NAME[name])
        is_refusal = label.removesuffix(", traced") in allowed and words in str(got)
        if (setting == "nans" and has_nan(want)) or (is_refusal and str(got).startswith(f"{called} of ")):
            return ""
        return f"raises {got}"
    gots, wants = arrays_of(got), arrays_of(want)
    if [x.shape for x in gots] != [x.shape for x in wants]:
        return f"has the shapes {[x.shape for x in gots]}, not {[x.shape for x in wants]}"
    if setting != "32 bits":
        same = [
            x.dtype == y.dtype and np.array_equal(x, y, equal_nan=x.dtype.kind in "fc") for x, y in zip(gots, wants)
        ]
        return "" if all(same) else f"is {got}, not {want}"
    wide = [x.dtype for x in gots if x.itemsize > (8 if x.dtype.kind == "c" else 4)]
    if wide and not all(type(x) in (int, float, complex) for x in tree_leaves(got)):
        return f"has the dtypes {wide}"
    is_random = name.startswith(("random.", "nn.initializers."))  # whose numbers depend on the width
    near = [is_random or np.allclose(x, y, rtol=3e-3, atol=1e-5, equal_nan=True) for x, y in zip(gots, wants)]
    return "" if all(near) else f"is {got}, not {want}"


@pytest.mark.sampled(keep=0.08)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gives_under_a_setting_the_value_that_it_gives_without(name):
    against, cases = [], 0
    for label, call in inputs_of(name):
        want = outcome(call, OURS)
        if isinstance(want, Exception):
            continue
        cases += 1
        for setting, scope in SETTINGS.items():
            if (setting, name) not in EXCEPTIONS:
                words = difference(name, setting, label, outcome(call, scope), want)
                against += [f"{setting}, {label}: {words}"] if words else []
    assert not against, "\n".join(against)
    assert cases, "no input fits: give it a call in settings_calls.py"


def test_each_function_without_a_call_and_each_exception_exists():
    assert {f"{module}.{name}" for module, value in MODULES.items() for name in value.__all__} >= EXCLUDED
    assert set(FUNCTIONS) >= {name for _, name in EXCEPTIONS} | set(CALLS) | set(OTHER_NAMES)


doubled = custom_jvp(lambda x: x * 2.0)
doubled.defjvps(lambda x_dot, out, x: x_dot * 2.0)


@pytest.mark.parametrize("fun", [checkpoint(lambda x: x * 2.0), doubled, jit(lambda x: x * 2.0)])
def test_checks_take_the_values_of_shards_in_calls(fun):
    mesh = AbstractMesh((2,), ("i",))
    with config.enable_checks():
        out = shard_map(fun, mesh=mesh, in_specs=P("i"), out_specs=P("i"))(np.arange(4.0))
    np.testing.assert_array_equal(out, 2.0 * np.arange(4.0))


def test_a_setting_of_ranks_or_dtypes_holds_for_the_user_on_device_arrays():
    x, y, z = (jit(lambda v: v)(v) for v in (SINGLE, np.ones((2, 3), np.float32), np.ones(3)))
    for _ in range(5):
        with config.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="numpy_rank_promotion is 'raise'"):
            x + y
        with (
            config.numpy_dtype_promotion("strict"),
            pytest.raises(TypeError, match="numpy_dtype_promotion is 'strict'"),
        ):
            x * z
    assert typeof(x + y).shape == (2, 3)
