"""jax's settings: those of the environment, and what is left of them after `uninstall`."""

from __future__ import annotations

import subprocess
import sys

import calque_as_jax


def run(program, **variables):
    environment = {**calque_as_jax.subprocess_environment(), **variables}
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)


def test_the_environment_gives_settings_of_every_class():
    variables = {
        "JAX_DEBUG_NANS": "Yes",
        "JAX_NUMPY_DTYPE_PROMOTION": "strict",
        "JAX_PLATFORMS": "cpu",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "2.5",
        "JAX_NUM_CPU_DEVICES": "2",
    }
    program = f"import jax; print([jax.config.read(name.lower()) for name in {list(variables)}], jax.device_count())"
    assert run(program, **variables).stdout == "[True, 'strict', 'cpu', 2.5, 2] 2\n"


def test_a_wrong_switch_in_the_environment_is_named():
    done = run("import jax", JAX_DEBUG_NANS="yes, please")
    assert (
        "the environment has JAX_DEBUG_NANS='yes, please'. Use one of 1, true, t, yes, y, on, 0, false, f, no, n, off."
        in done.stderr
    )


def test_no_setting_of_jax_outlives_it():
    program = """
import calque_as_jax
from calque_core import config
before = config.current(), config.reports()
calque_as_jax.uninstall()
at_rest = config.current(), config.reports()
calque_as_jax.install()
import jax
jax.config.update("jax_debug_infs", True)
jax.config.update("jax_log_compiles", True)
jax.config.update("jax_softmax_custom_jvp", False)
calque_as_jax.uninstall()
print(before == at_rest, (config.current(), config.reports()) == at_rest)
calque_as_jax.install()
print(jax.config.jax_softmax_custom_jvp, jax.config.jax_debug_infs)
"""
    done = run(program, JAX_DEBUG_NANS="1")
    assert done.stdout == "False True\nTrue False\n", done.stderr
