"""What each package loads at its import, beyond NumPy: a new import is a line that a reviewer sees.

One idea: import time is counted in modules.  Operations, rules, the methods of arrays and the packages under the facade
are loaded when a program first uses them; this file lists the modules of core that `import calque_core` may load, the
modules of autodiff that a first gradient adds, and those of the standard library that each package adds to NumPy's.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from functools import cache
from types import ModuleType

import pytest

import calque_core
from calque_core.primitives.families import columns, modules_of
from calque_pytree.late import _packages

STANDARD = {"__future__", "_bisect", "bisect"}  # that NumPy's import leaves out, in some Python
LOGGING = {"logging", "threading", "traceback", "string", "_string", "atexit"}  # where it hides an installed jax
LOADED = {  # the standard library and NumPy, and our own packages
    "calque_core": (STANDARD, {"calque_core", "calque_pytree"}),
    "calque_autodiff": (STANDARD, {"calque_autodiff", "calque_core", "calque_pytree"}),
    "calque_jet": (STANDARD, {"calque_jet", "calque_core", "calque_pytree"}),
    "calque_batching": (STANDARD, {"calque_batching", "calque_core", "calque_pytree"}),
    "calque_linalg": (STANDARD, {"calque_linalg", "calque_core", "calque_pytree"}),
    "calque_special": (STANDARD, {"calque_special", "calque_core", "calque_pytree"}),
    "calque_numpy": (STANDARD, {"calque_numpy", "calque_core", "calque_pytree"}),
    "calque_signal": (STANDARD, {"calque_signal", "calque_core", "calque_pytree"}),
    "calque_sparse": (STANDARD, {"calque_sparse", "calque_core", "calque_pytree"}),
    "calque_laplacian": (STANDARD, {"calque_laplacian", "calque_core", "calque_pytree"}),
    "calque_harvest": (STANDARD, {"calque_harvest", "calque_core", "calque_pytree"}),
    "calque_bounds": (STANDARD, {"calque_bounds", "calque_core", "calque_pytree"}),
    "calque": (STANDARD, {"calque", "calque_core", "calque_pytree"}),
    "calque_as_jax": (STANDARD | LOGGING, {"calque_as_jax", "calque_core", "calque_pytree"}),
}
CORE = {  # the modules of core by folder; operations and the operators of arrays come with the first tracer
    "": "backends config context epoch errors hooks late lax record report_settings setting_values start_requests",
    "calls": "api_util",
    "frames": "names recursion source tracebacks",
    "jaxprs": "effects jaxpr",
    "memory": "uncopied",
    "primitives": "families primitive rule_results rules",
    "traces": "evaluators own_results trace tracer",
    "types": "array_methods avals dtypes numbers stand_in",
}
GRADIENT = {  # the modules of autodiff that `grad` of a first function loads, by folder
    "": "known passes programs rules traces verbs",
    "known": "copies every_size lines operation pulls steps tables tape transpositions",
    "passes": "layouts signs",
    "programs": "partial_eval recorded transpose zeros",
    "traces": "jvp_trace tangent_trace",
    "verbs": "checks gradient linear_functions linearize",
}
OPERATORS = {  # the modules of core for operators and ufuncs of tracers, without the methods of arrays
    "arrays": (
        "late_methods numpy_arithmetic numpy_names numpy_protocol numpy_sequences operators properties weak_operators"
    ),
    "ops": "calls elementwise reductions shapes",
    "ops.calls": "custom_closures linear tangents",
    "ops.elementwise": (
        "arithmetic compare complex convert declare exponential formulas numpy_calls operands ordering rounding "
        "scalars trigonometric weakness"
    ),
    "ops.reductions": "reduce",
    "ops.shapes": "axes broadcast create paddings shape",
}
LATE = [  # packages with names that are loaded late
    "calque",
    "calque_autodiff",
    "calque_batching",
    "calque_core",
    "calque_core.engine",
    "calque_core.extend",
    "calque_core.engine.numpy_functions",
    "calque_core.lax",
    "calque_linalg",
    "calque_linalg.kit",
    "calque_jet",
    "calque_numpy",
    "calque_numpy.fft",
    "calque_numpy.linalg",
    "calque_numpy.nn",
    "calque_numpy.random",
    "calque_numpy.scipy.linalg",
    "calque_numpy.scipy.signal",
    "calque_numpy.scipy.special",
    "calque_numpy.scipy.stats",
    "calque_pytree",
    "calque_special",
    "calque_special.kit",
    "calque_signal",
]
FRONT = {  # the modules of calque_numpy that a program loads beside the package, by its first function
    "import calque_numpy": "missing",
    "calque.numpy.sin(1.0)": "missing evaluation",
    "calque.numpy.where(True, 1.0, 2.0)": "missing evaluation masks",
    "calque.make_jaxpr(numpy.mean)(1.0)": None,  # core has the functions that are methods of arrays
    "calque.make_jaxpr(numpy.sort)(numpy.ones(2))": "missing evaluation sorting",
    "calque.make_jaxpr(numpy.diff)(numpy.ones(2))": "missing evaluation creation releases running",
    "calque.make_jaxpr(numpy.linalg.det)(numpy.eye(2))": "missing evaluation creation equations linalg shapes",
    "calque.make_jaxpr(numpy.linalg.norm)(numpy.ones(2))": "missing evaluation linalg norms",
    "calque.nn.relu(1.0)": "missing nn nn.piecewise",
    "calque.random.key(0)": (
        "missing key_arrays random random.arguments random.generators random.keys random.threefry releases"
    ),
}
# Modules of rules that serve rules of others
SERVING = {"calls.reversal", "calls.saving", "calls.while_backwards", "calls.custom_batches"}
for package in ("autodiff", "batching", "jet", "linalg", "signal", "special", "xla_backend"):
    importlib.import_module(f"calque_{package}")  # it declares its columns
COLUMNS = ["calque_autodiff.rules", "calque_batching.rules", "calque_jet.rules", "calque_xla_backend.rules"]
COLUMNS += ["calque_special.rules", "calque_special.series"]
COLUMNS += ["calque_linalg.rules", "calque_linalg.series", "calque_linalg.lowerings"]
COLUMNS += ["calque_signal.rules", "calque_signal.series", "calque_signal.lowerings"]
LIST = """
import json, sys
if "pytree" not in sys.argv[1]:
    import numpy, typing, collections.abc, importlib, contextvars, weakref  # what every program has
before = set(sys.modules)
exec(sys.argv[1])
print(json.dumps(sorted(set(sys.modules) - before)))
"""


@cache
def loaded_by(program: str) -> frozenset[str]:
    """Return the modules that a program loads, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", LIST, program], capture_output=True, text=True, check=True)
    return frozenset(json.loads(done.stdout))


def is_ours(module: str) -> bool:
    return module.startswith("calque")


@pytest.mark.parametrize("package", LOADED)
def test_a_package_loads_no_further_package_of_anyone(package):
    others, ours = LOADED[package]
    modules = loaded_by(f"import {package}")
    assert {m.split(".")[0] for m in modules if not is_ours(m)} <= others
    assert {m.split(".")[0] for m in modules if is_ours(m)} == ours


def test_pytree_loads_the_standard_library_alone_and_none_of_its_modules_before_their_first_use():
    roots = {m.split(".")[0] for m in loaded_by("from calque_pytree import *") if not is_ours(m)}
    assert roots <= set(sys.stdlib_module_names)
    assert {"dataclasses", "typing"} <= roots
    assert roots.isdisjoint({"asyncio", "concurrent", "ctypes", "difflib", "logging", "subprocess", "unittest"})
    loaded = loaded_by("import calque_pytree")
    assert set(filter(is_ours, loaded)) == {"calque_pytree", "calque_pytree.late"}
    assert "dataclasses" not in loaded


@pytest.mark.parametrize("package", ["calque_core", "calque"])
def test_core_and_the_facade_load_these_modules_of_core_and_no_others(package):
    listed = modules_in("calque_core", CORE)
    extra = {"calque_core.extend"} if package == "calque" else set()
    assert {m for m in loaded_by(f"import {package}") if m.startswith("calque_core")} == listed | extra


def test_a_first_gradient_loads_these_modules_of_autodiff_and_the_rules_of_its_operations():
    loaded = loaded_by("import calque; calque.grad(lambda x: numpy.sin(x) * x)(1.0)")
    listed = modules_in("calque_autodiff", GRADIENT)
    listed |= {
        "calque_autodiff.rules.elementwise",
        "calque_autodiff.rules.elementwise.arithmetic",
        "calque_autodiff.rules.elementwise.trigonometric",
    }
    assert {m for m in loaded if m.startswith("calque_autodiff")} == listed
    core = {m for m in loaded if m.startswith(("calque_core.arrays", "calque_core.ops"))}
    assert core == modules_in("calque_core", {"": "", **OPERATORS}) - {"calque_core"}
    assert not {"calque_batching", "calque_jet", "calque_numpy", "dataclasses"} & loaded


NETWORK = """
import calque
def loss(w):
    return numpy.mean((numpy.tanh(numpy.ones((2, 3)) @ w + 1.0) @ numpy.ones((3, 1)) - 1.0) ** 2)
calque.grad(loss)(numpy.ones((3, 3)))
"""


def test_the_first_gradient_of_a_network_loads_only_the_subjects_of_its_operations():
    loaded = loaded_by(NETWORK)
    arrays = {m.rpartition(".")[2] for m in loaded if m.startswith("calque_core.arrays.")}
    assert arrays == {*OPERATORS["arrays"].split(), "numpy_products", "numpy_reductions"}
    rules = {m.removeprefix("calque_autodiff.rules.") for m in loaded if m.startswith("calque_autodiff.rules.")}
    rooms = {"elementwise", "reductions"}
    assert rules - rooms == {"elementwise.arithmetic", "elementwise.hyperbolic", "reductions.dot", "reductions.reduce"}
    assert not {"numpy_functions", "selection", "ties"} & {m.rpartition(".")[2] for m in loaded}


def test_the_gradient_of_a_sum_loads_no_products_no_orders_and_no_loops():
    loaded = loaded_by("import calque; calque.grad(lambda x: numpy.sum(numpy.max(x) * x))(numpy.ones(3))")
    assert {
        "calque_core.ops.reductions.reduce",
        "calque_core.ops.reductions.selection",
        "calque_autodiff.rules.reductions.reduce",
    } <= loaded
    assert not {"cond", "cumulative", "gather", "loops", "orders", "sort"} & {m.rpartition(".")[2] for m in loaded}


@pytest.mark.parametrize("expression", FRONT)
def test_a_first_function_of_numpys_loads_the_modules_of_its_subject(expression):
    names = FRONT[expression]
    listed = set() if names is None else modules_in("calque_numpy", {"": names})
    loaded = loaded_by(f"import calque; {expression}")
    assert {m for m in loaded if m.startswith("calque_numpy")} == listed
    assert "difflib" not in loaded  # only the error of an unknown name needs it


@pytest.mark.parametrize("package", LOADED)
def test_no_import_loads_a_rule_of_a_family_that_nobody_asked_for(package):
    assert loaded_by(f"import {package}") & {m for column in COLUMNS for m in modules_of(column)} == set()


@pytest.mark.parametrize(("column", "of"), sorted({pair for pairs in columns.values() for pair in pairs}))
def test_every_module_of_rules_has_the_path_of_a_family_or_serves_one(column, of):
    families = {module.removeprefix(of) for module in modules_of(of)}
    modules = {module.removeprefix(column) for module in modules_of(column)}
    assert {module.removeprefix(".") for module in modules - families} <= SERVING


LOAD_ALL = """
import calque, calque_autodiff, calque_batching, calque_core, calque_jet, calque_special
from calque_core import lax, rule_epoch
from calque_core.primitives.families import columns, import_column
before = rule_epoch()
for module in (lax, lax.linalg, calque_special):
    for name in module.__all__:
        getattr(module, name)
for kind in list(columns):
    import_column(kind)
print(before, rule_epoch())
"""


def test_what_is_loaded_late_leaves_traced_and_compiled_programs_valid():
    done = subprocess.run([sys.executable, "-c", LOAD_ALL], capture_output=True, text=True, check=True)
    before, after = done.stdout.split()
    assert before == after


@pytest.mark.parametrize("package", LATE)
def test_no_late_name_is_hidden_by_a_module_of_the_package(package):
    module = importlib.import_module(package)
    late = {name for name, (origin, _) in _packages[package].origins.items() if origin != package}
    assert late >= {name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType)}
    assert late & {found.name for found in pkgutil.iter_modules(getattr(module, "__path__", []))} == set()


@pytest.mark.parametrize(
    "use",
    [
        "convert_element_type_p.bind(1.0, new_dtype=numpy.dtype('float32'), weak_type=False)",
        "jit_p.bind(1.0, jaxpr=calque_core.make_jaxpr(abs)(1.0), name='f', compiler=None)",
    ],
)
def test_a_primitive_that_is_declared_below_its_evaluation_has_it_in_the_first_program(use):
    loaded = loaded_by(f"import calque_core, numpy; calque_core.lax.{use}")
    assert getattr(calque_core.lax, use.split(".")[0]).family in loaded


def modules_in(package: str, folders: dict[str, str]) -> set[str]:
    """Return the full names of modules by folder; the folders are modules, too."""
    inner = {f"{package}.{folder}.{name}" for folder, names in folders.items() if folder for name in names.split()}
    outer = {f"{package}.{name}" for name in [*folders[""].split(), *filter(None, folders)]}
    return inner | outer | {package}
