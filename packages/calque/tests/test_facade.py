"""The facade: one name for everything, and the backend only where it is asked for."""

import ast
import importlib
import importlib.util
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import calque
import calque_numpy.scipy.linalg
import calque_numpy.scipy.special
import calque_numpy.scipy.stats
from calque import numpy, random, tree
from calque.scipy import linalg as scipy_linalg
from calque.scipy import special as scipy_special
from calque.scipy import stats as scipy_stats

OURS = "__main__", "doctor", "exporting", "jacobians", "line_search", "minimizing", "missing", "ode", "testing"
OWN = {f"calque.{name}" for name in OURS}
ALIASES = [found.name for found in pkgutil.walk_packages(calque.__path__, "calque.") if found.name not in OWN]


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_every_public_name_is_there():
    for name in calque.__all__:
        assert getattr(calque, name) is not None, name


def test_importing_does_not_load_the_compiler():
    done = run("import sys, calque; assert 'jaxlib' not in sys.modules; assert 'calque_xla_backend' not in sys.modules")
    assert done.returncode == 0, done.stderr


def test_the_specs_of_meshes_do_not_load_the_compiler_and_shardings_do():
    pytest.importorskip("calque_xla_backend", reason="shardings are those of the backend")
    program = "import sys, calque; calque.P('x'), calque.debug.print; assert 'jaxlib' not in sys.modules; "
    done = run(program + "calque.NamedSharding, calque.debug.visualize_sharding; assert 'jaxlib' in sys.modules")
    assert done.returncode == 0, done.stderr


def test_a_backend_name_without_the_backend_says_what_to_install():
    program = """
import sys
sys.modules["calque_xla_backend"] = None  # as if it were not installed
import calque
try:
    calque.jit
except ModuleNotFoundError as error:
    print(error)
"""
    done = run(program)
    assert done.stdout.strip() == (
        "calque.jit needs the compiler, which is a package of its own. "
        'Install it: pip install "calque-transforms[xla]".'
    ), done.stderr


def test_an_unknown_name_is_an_attribute_error_that_says_where_to_look():
    for name, advice in {
        "pmapp": r"Did you mean 'pmap'\?",
        "value_and_gradient": r"Did you mean 'value_and_grad'\?",
        "sin": r"Use numpy\.sin, or calque\.numpy\.sin\.",
        "linalg": r"Use numpy\.linalg, or calque\.numpy\.linalg\.",
        "qqq": r"Its names are in calque\.__all__\.",
    }.items():
        with pytest.raises(AttributeError, match=rf"calque has no attribute '{name}'\. {advice}"):
            getattr(calque, name)


@pytest.mark.parametrize(
    ("module", "name", "similar"),
    [
        ("calque.lax", "coond", "cond"),
        ("calque.nn", "rleu", "relu"),
        ("calque.numpy", "sotr", "sort"),
        ("calque.numpy.fft", "irftt", "irfft"),
        ("calque.numpy.linalg", "nrom", "norm"),
        ("calque.random", "nromal", "normal"),
        ("calque.scipy.linalg", "exmp", "expm"),
        ("calque.scipy.special", "exipt", "expit"),
    ],
)
def test_an_unknown_name_of_a_module_is_an_error_with_the_most_similar_name(module, name, similar):
    imported = importlib.import_module(module)
    with pytest.raises(AttributeError, match=rf"^{module} has no attribute '{name}'\. Did you mean '{similar}'\?$"):
        getattr(imported, name)
    with pytest.raises(AttributeError, match=rf"^{module} has no attribute 'qqq'\. Its names are in {module}\.__all"):
        imported.qqq


REPLACED = """
import calque, calque.numpy, calque_autodiff, calque_numpy
from unittest import mock
with mock.patch.object(calque_numpy, "sort", None), mock.patch.object(calque_autodiff, "grad", None):
    print(calque_numpy.sort, calque_autodiff.grad)
    calque.numpy.sort, calque.grad  # their first use
print(calque.numpy.sort is calque_numpy.sort, calque.grad is calque_autodiff.grad)
print(calque.grad(lambda x: calque.numpy.sort([x, 1.0])[0])(0.5))
"""


def test_a_name_that_a_test_replaced_in_its_package_is_unchanged_in_the_facade():
    assert run(REPLACED).stdout.split() == ["None", "None", "True", "True", "1.0"]


def test_backend_names_are_listed():
    assert {"jit", "Array", "device_put"} <= set(dir(calque))


def test_the_submodules_are_the_packages_under_another_name():
    assert numpy.sum is calque_numpy.sum
    assert scipy_linalg.expm is calque_numpy.scipy.linalg.expm
    assert scipy_special.expit is calque_numpy.scipy.special.expit
    assert scipy_stats.norm is calque_numpy.scipy.stats.norm
    assert random.normal is calque_numpy.random.normal
    assert tree.map(lambda x: x + 1, {"b": 1, "a": [2]}) == {"b": 2, "a": [3]}


@pytest.mark.parametrize("name", ALIASES)
def test_a_module_path_of_jax_imports_and_defines_nothing(name):
    if name.removeprefix("calque.") in calque._OPTIONAL["calque"].split(", "):
        pytest.importorskip("calque_xla_backend", reason="the module is that of the backend")
    module = importlib.import_module(name)
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    statements = [s for each in tree.body for s in ([*each.body, *each.orelse] if isinstance(each, ast.If) else [each])]
    assert {type(s) for s in statements} <= {ast.Expr, ast.Import, ast.ImportFrom, ast.Assign}
    assert all(hasattr(module, public) for public in module.__all__)


def test_module_paths_work_by_attribute_without_an_import_of_their_own():
    done = run(
        "import calque; print([eval(f'calque.{n}').__name__ for n in "
        "('scipy.special', 'tree_util', 'ops', 'errors', 'numpy.linalg', 'lax.linalg', 'nn.initializers')])"
    )
    assert done.returncode == 0, done.stderr
    assert "calque.scipy.special" in done.stdout


def test_module_paths_take_from_imports_as_jax_does():
    done = run(
        "from calque.numpy.linalg import norm\nfrom calque.lax import cond\nimport calque.numpy.fft as fft\n"
        "from calque.ops import segment_sum\nprint(norm([3.0, 4.0]), segment_sum([1, 2, 4], [0, 0, 1]), fft.fft([1.0]))"
    )
    assert done.stdout.split() == ["5.0", "[3", "4]", "[1.+0.j]"], done.stderr


def test_a_plain_numpy_function_is_differentiated_and_batched():
    def f(x):
        return np.sum(np.sin(x) * np.exp(-x))

    x = np.linspace(0.0, 1.0, 4)
    step = 1e-6
    slopes = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(calque.grad(f)(x), slopes, atol=1e-8)
    xs = np.stack([x, 2 * x])
    np.testing.assert_allclose(calque.vmap(f)(xs), [f(x), f(2 * x)])


def test_the_rule_matrix_is_printed_by_a_command():
    done = subprocess.run([sys.executable, "-m", "calque"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    header, first, *_ = done.stdout.splitlines()
    assert header.split() == ["impl", "abstract_eval", "jvp", "transpose", "jet", "batch", "lowering"]
    assert first.split()[0] == "abs"


def test_settings_with_names_of_jax_are_those_of_config():
    names = ("checking_leaks", "debug_infs", "debug_nans", "disable_jit", "enable_checks", "enable_x64")
    for name in (*names, "default_device", "numpy_dtype_promotion", "numpy_rank_promotion"):
        assert getattr(calque, name) is getattr(calque.config, name)


class Model:
    """A callable object whose class attribute is no name."""

    __name__ = 5

    def __call__(self, x):
        return np.sum(x * x)


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(
            lambda f, x: calque.jit(f)(x),
            marks=pytest.mark.skipif(not importlib.util.find_spec("calque_xla_backend"), reason="without the backend"),
        ),
        lambda f, x: calque.vmap(f)(x[None]),
        lambda f, x: calque.grad(f)(x),
        lambda f, x: calque.value_and_grad(f)(x),
        lambda f, x: calque.jacfwd(f)(x),
        lambda f, x: calque.jacrev(f)(x),
        lambda f, x: calque.hessian(f)(x),
        lambda f, x: calque.grad(calque.checkpoint(f))(x),
        lambda f, x: calque.make_jaxpr(f)(x),
        lambda f, x: calque.eval_shape(f, x),
        lambda f, x: calque.custom_jvp(f)(x),
        lambda f, x: calque.custom_vjp(f)(x),
        lambda f, x: calque.linearize(f, x),
        lambda f, x: calque.numpy.vectorize(f)(x),
    ],
)
def test_a_callable_object_needs_no_name(use):
    x = np.array([1.0, 2.0])
    expected = calque.tree.leaves(use(lambda x: np.sum(x * x), x))
    for a, b in zip(calque.tree.leaves(use(Model(), x)), expected, strict=True):
        assert str(a) == str(b)
