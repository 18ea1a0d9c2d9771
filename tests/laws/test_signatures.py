"""Transformed functions keep the signature of the user's function: for type checkers, and at run time."""

import inspect
import re

import pytest

import calque
from calque_autodiff import LinearFunction

USER_FILE = """
from collections.abc import Callable
from typing import Any, assert_type

import calque
from calque_autodiff import LinearFunction


def loss(w: float, x: list[float], *, scale: int = 1) -> float:
    return w * scale * len(x)


def loss_and_count(w: float) -> tuple[float, int]:
    return w, 1


def square(x: float) -> tuple[float, Callable[[float], float]]:
    return x * x, lambda ct: 2.0 * x * ct


assert_type(calque.jit(loss)(1.0, [2.0], scale=3), float)
assert_type(calque.jit(static_argnames="scale")(loss)(1.0, [2.0], scale=3), float)
assert_type(calque.checkpoint(loss)(1.0, [2.0], scale=3), float)
assert_type(calque.custom_jvp(loss)(1.0, [2.0], scale=3), float)
assert_type(calque.custom_vjp(loss)(1.0, [2.0], scale=3), float)
assert_type(calque.custom_rules(loss)(1.0, [2.0], scale=3), float)
assert_type(calque.custom_gradient(square)(1.0), float)
assert_type(calque.value_and_grad(loss)(1.0, [2.0], scale=3), tuple[float, Any])
assert_type(calque.value_and_grad(loss_and_count, has_aux=True)(1.0), tuple[tuple[float, int], Any])
assert_type(calque.jvp(loss, (1.0, [2.0]), (1.0, [2.0])), tuple[float, float])
assert_type(calque.linearize(loss, 1.0, [2.0]), tuple[float, LinearFunction])
assert_type(calque.vjp(loss_and_count, 1.0, has_aux=True), tuple[float, LinearFunction, int])


@calque.jit
def step(w: float, rate: float = 0.1) -> float:
    gradient: float = calque.grad(loss)(w, [1.0])
    return w - rate * gradient


assert_type(step(1.0, rate=0.5), float)
"""

AUTHOR_FILE = """
from typing import Any, assert_type

import calque
import calque_core as core
from calque.sharding import PartitionSpec


class Marks(core.ValueTrace):
    marks: int = 0


with core.tracing(Marks(core.current_trace())) as trace:
    assert_type(trace, Marks)


def scale(x: float, y: float) -> float:
    return x * y


rules = calque.custom_rules(scale)
derived = calque.custom_jvp(scale)
batched = calque.custom_vmap(scale)


@rules.def_jvp
@derived.defjvp
def scale_jvp(primals: tuple[float, float], tangents: tuple[float, float]) -> tuple[float, float]:
    return primals[0], tangents[0]


@rules.def_batch
@batched.def_vmap
def scale_batch(size: int, in_batched: list[bool], x: float, y: float) -> tuple[float, bool]:
    return scale(x, y), True


@rules.def_transpose
def scale_transpose(ct: float, y: float) -> float:
    return ct * y


assert_type(scale_jvp((1.0, 2.0), (1.0, 0.0)), tuple[float, float])
assert_type(scale_batch(1, [True], 1.0, 2.0), tuple[float, bool])
assert_type(scale_transpose(1.0, 2.0), float)
spec = PartitionSpec()
assert_type(calque.shard_map(scale, in_specs=spec, out_specs=spec)(1.0, 2.0), float)
assert_type(core.shard_map(in_specs=spec, out_specs=spec)(scale)(1.0, 2.0), float)
_ = calque.pmap(scale)(1.0, 2.0)
"""
WRONG_RULES = [
    "trace.mark",
    "scale_jvp(1.0, 2.0)",
    "scale_batch(1, True, 1.0, 2.0)",
    "scale_transpose(1.0)",
    "calque.shard_map(scale, in_specs=spec, out_specs=spec)(1.0)",
    "calque.pmap(scale)('a', 2.0)",
]

KEEPING = (
    "grad value_and_grad vmap jit checkpoint remat jacfwd jacrev hessian custom_jvp custom_vjp custom_rules make_jaxpr"
)
WRONG_CALLS = [f"calque.{name}(loss)('a', [1.0])" for name in KEEPING.split()]
WRONG_CALLS += ["calque.grad(loss)(1.0)", "calque.vmap(loss)(1.0, [1.0], sclae=3)", "calque.jit(loss, static=1)"]


ARRAY_FILE = """
from typing import assert_type

import numpy as np

import calque
import calque.numpy as cnp
from calque import Array


def affine(w: Array, x: Array) -> Array:
    return -(w @ x) + 1.0 - 2.0 * x / 3.0 ** abs(x) % 2


def parts(x: Array) -> Array:
    total: float = float(x.sum())
    for row in x:
        total += len(row) + x.ndim
    if (x > 0).all():
        x += np.ones(3)
    assert_type((x >= 0) & ~(x == 1.0), Array)
    assert_type(x.at[0].set(1.0).at[1:].add(x[0]), Array)
    assert_type(x.T.reshape(2, -1).mean(axis=0, keepdims=True).astype(np.float32), Array)
    assert_type(divmod(x, 2), tuple[Array, Array])
    assert_type(x.shape, tuple[int, ...])
    return x[0, 1:, None] * total


def of_any_class(x: cnp.ndarray, y: cnp.ndarray) -> cnp.ndarray:
    return x @ y + 2.0 * x[0] - x.at[0].multiply(y).sum()


def of_device_array(x: Array) -> cnp.ndarray:
    return of_any_class(x, x)


class Model:
    w: float = 2.0

    @calque.jit
    def scaled(self, x: float) -> float:
        return self.w * x

    @staticmethod
    @calque.jit
    def halved(x: float) -> float:
        return x / 2


assert_type(Model().scaled(1.0), float)
assert_type(Model.scaled(Model(), x=1.0), float)
assert_type(Model.halved(1.0), float)
x: Array = cnp.zeros(3)
"""
WRONG_USES = [
    "x.sort()",
    "x.sum(axes=0)",
    "x.at[0].sett(1.0)",
    "x.shape[0].T",
    "Model().scaled('a')",
    "Model().scaled()",
]


NAMES_FILE = """
import calque
import calque.numpy as cnp
import calque_core
from calque import config, debug, ffi, grad, jit, P
from calque.lax import cond, linalg
from calque.nn import initializers
from calque.scipy.special import expit
from calque_autodiff import SymbolicZero, primitive_jvps
from calque_batching import primitive_batchers, vmap
from calque_core import bfloat16, lax
from calque_core.extend import late_chapters
from calque_numpy.random import key
from calque_pytree import map, tree_map

calque.numpy.linalg.norm, calque.lax.linalg.solve, calque.random.split, calque_core.config.enable_x64
cnp.float32, cnp.bfloat16, cnp.abs, calque.debug.visualize_sharding, calque_core.__version__
"""
LATE_MODULES = (
    "calque calque.debug calque.lax calque.nn calque.numpy calque.numpy.fft calque.numpy.linalg calque.random "
    "calque.scipy.linalg calque.scipy.special calque_autodiff calque_batching calque_core calque_core.extend "
    "calque_core.engine.numpy_functions calque_core.lax calque_jet calque_numpy calque_numpy.fft calque_numpy.linalg "
    "calque_numpy.nn calque_numpy.random calque_numpy.scipy.linalg calque_numpy.scipy.special calque_pytree "
    "calque_xla_backend"
)
WRONG_NAMES = [f"from {module} import qqq" for module in LATE_MODULES.split()] + ["calque.qqq", "cnp.linalg.qqq"]


@pytest.mark.parametrize(
    ("program", "wrong"),
    [(USER_FILE, WRONG_CALLS), (ARRAY_FILE, WRONG_USES), (AUTHOR_FILE, WRONG_RULES), (NAMES_FILE, WRONG_NAMES)],
    ids=["calls", "arrays", "rules", "names"],
)
def test_type_checkers_know_what_a_users_program_computes(program, wrong, tmp_path):
    api = pytest.importorskip("mypy.api", reason="mypy is not installed")
    file = tmp_path / "program.py"
    lines = program.strip().split("\n")
    file.write_text("\n".join([*lines, *wrong]) + "\n")
    report, crash, _ = api.run(["--strict", "--config-file=", f"--cache-dir={tmp_path}", str(file)])
    assert not crash
    refused = {int(line.split(":")[1]) for line in report.splitlines() if ": error: " in line}
    assert refused == set(range(len(lines) + 1, len(lines) + 1 + len(wrong))), report


def loss(w, x, *, scale=1):
    """Return the loss."""
    return w * x * scale


@pytest.mark.parametrize("name", [*KEEPING.split(), "custom_gradient", "jacobian"])
def test_a_transformed_function_says_what_the_function_says(name):
    transformed = getattr(calque, name)(loss)
    assert inspect.signature(transformed) == inspect.signature(loss)
    assert inspect.unwrap(transformed) is loss
    assert transformed.__name__ == "loss"
    assert transformed.__doc__ == "Return the loss."


OWN_ARGUMENTS = [
    "grad", "value_and_grad", "jit", "vmap", "checkpoint", "jacfwd", "jacrev", "hessian", "hvp", "linearize", "vjp",
    "jvp", "make_jaxpr", "custom_jvp", "custom_vjp",
]  # fmt: skip


@pytest.mark.parametrize("name", OWN_ARGUMENTS)
def test_help_explains_the_arguments_of_the_transformation_itself(name):
    transformation = getattr(calque, name)
    parameters = [p for p in inspect.signature(transformation).parameters if p not in ("args", "kwargs")]
    assert parameters[0] == "fun"
    assert [p for p in parameters if not re.search(rf"`[^`]*\b{p}\b[^`]*`", transformation.__doc__)] == []


def test_the_functions_of_linearize_and_vjp_have_a_public_class():
    assert isinstance(calque.linearize(lambda x: x, 1.0)[1], LinearFunction)
