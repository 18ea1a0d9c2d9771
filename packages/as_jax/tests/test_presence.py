"""Installing and uninstalling, each in a process of its own."""

import importlib
import importlib.metadata
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest

import calque_as_jax
from calque_core import config

FAKE = "import sys, types; sys.modules['jax'] = types.ModuleType('jax'); sys.modules['jax'].__file__ = 'jax.py'\n"


def run(program, **options):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, **options)


def test_jax_has_a_version():
    assert jax.__version__ == importlib.metadata.version("jax") == jax.version.__version__


def test_a_jax_that_is_imported_already_is_an_error():
    done = run(f"{FAKE}import calque_as_jax")
    assert "jax itself is imported already, from jax.py. Import calque_as_jax first" in done.stderr


def test_a_jax_that_is_installed_stays_hidden_and_is_named_once(tmp_path):
    (tmp_path / "jax.py").write_text("raise RuntimeError('the other jax')")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import calque_as_jax, jax\ncalque_as_jax.uninstall()\ncalque_as_jax.install()\nimport jax\nprint(jax.jit)"
    )
    done = run(program)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("`import jax` gives calque in this process") == 1
    assert "jax.py is not used" in done.stderr


def test_uninstalling_gives_the_name_and_the_settings_back(tmp_path):
    (tmp_path / "jax.py").write_text("other = True")
    program = (
        "import sys, calque\nfrom calque_core import config\nimport calque_as_jax, jax.numpy\n"
        "assert not config.current().enable_x64\n"
        f"calque_as_jax.uninstall(); sys.path.insert(0, {str(tmp_path)!r})\n"
        "assert config.current().enable_x64\nimport jax\nprint(jax.other)"
    )
    assert run(program).stdout == "True\n"


def test_a_new_process_finds_calque_only_where_asked(tmp_path):
    (tmp_path / "jax.py").write_text("other = True")
    (tmp_path / "sitecustomize.py").write_text("print('mine')")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import jax; print(hasattr(jax, 'other'))"
    assert run(program).stdout.endswith("True\n")
    environment = calque_as_jax.subprocess_environment()
    environment["PYTHONPATH"] += f":{tmp_path}"
    assert run(program, env=environment).stdout == "mine\nFalse\n"


def test_variables_of_jax_set_its_settings():
    program = "import calque_as_jax, jax; print(jax.config.jax_enable_x64, jax.numpy.ones(1).dtype)"
    assert run(program).stdout == "False float32\n"
    environment = {**calque_as_jax.subprocess_environment(), "JAX_ENABLE_X64": "1"}
    assert run(program, env=environment).stdout == "True float64\n"


def test_settings_have_their_names_of_jax():
    with jax.experimental.enable_x64():
        assert jax.config.x64_enabled
        assert jax.config.read("jax_enable_x64")
    assert not config.current().enable_x64
    jax.config.update("jax_threefry_partitionable", False)
    assert jax.config.values["jax_threefry_partitionable"] is False
    with pytest.raises(AttributeError, match=r"jax.config has no setting 'jax_enable_x46' here"):
        jax.config.update("jax_enable_x46", True)


def test_a_program_runs_with_its_arguments(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import sys, jax\nprint(sys.argv[1:], jax.jit(lambda x: x + 1)(1))")
    command = [sys.executable, "-m", "calque_as_jax", str(path), "a", "-b"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "['a', '-b'] 2\n"


def test_a_program_is_checked_before_it_runs(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        "import jax, jax.numpy as jnp\nfrom jax.experimental import pallas as pl\nfrom jax import lax as L\n"
        "jnp.linalg.solve\nL.rng_uniform(0, 1, (2,))\njax.config.jax_enable_x64\nraise SystemExit(5)\n"
    )
    command = [sys.executable, "-m", "calque_as_jax", "--check", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        f"{path}:2: calque has no 'jax.experimental.pallas'. Kernels of one's own come by jax.ffi.",
        f"{path}:5: calque has no 'jax.lax.rng_uniform'. Use jax.random.uniform.",
    ]
    assert done.returncode == 1
    path.write_text("import jax\njax.jit")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "all names of jax that it uses are there\n")


def test_the_program_of_the_module_says_how_it_is_used():
    done = subprocess.run([sys.executable, "-m", "calque_as_jax"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith(
        "usage: python -m calque_as_jax [--check] program.py [arguments], or -m module [arguments]\n"
    )


def test_functions_of_jax_are_pickled_by_their_names():
    jax = importlib.import_module("jax")  # other tests have uninstalled the modules that this file imported
    for function in (jax.numpy.sin, jax.nn.gelu, jax.lax.add, jax.numpy.linalg.solve, jax.random.normal, jax.grad):
        assert pickle.loads(pickle.dumps(function)) is function
    assert b"jax.numpy" in pickle.dumps(jax.numpy.sin)


@pytest.mark.parametrize(("value", "weak"), [([0, 1, 2], False), (2.0, True)])
def test_an_array_that_jax_has_pickled_is_read(value, weak):
    make, args, state = np.array(value, np.float32).__reduce__()

    class Pickled:
        def __reduce__(self):
            return jax._src.array._reconstruct_array, (make, args, state, {"weak_type": weak})

    x = pickle.loads(pickle.dumps(Pickled()))
    assert isinstance(x, jax.Array)
    assert (x.tolist(), x.dtype, x.weak_type) == (value, np.float32, weak)


def test_threads_have_jax_and_its_settings():
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(lambda: jax.jit(lambda x: __import__("jax.numpy").numpy.sin(x))(0.0)).result()
    assert isinstance(made, jax.Array)
    assert made.dtype == jax.numpy.float32


def test_settings_that_change_nothing_hold_for_a_block():
    before = jax.config.jax_threefry_partitionable
    with jax.threefry_partitionable(not before):
        assert jax.config.jax_threefry_partitionable is not before
    assert jax.config.jax_threefry_partitionable is before
    with jax.enable_custom_prng(), jax.debug_key_reuse(False):
        assert jax.config.jax_enable_custom_prng
    with pytest.raises(NotImplementedError, match="Use each key once"):
        jax.debug_key_reuse(True)


def test_listeners_hear_the_events_of_libraries():
    heard = []
    listen = lambda *event, **details: heard.append((*event, details))
    jax.monitoring.register_event_listener(listen)
    jax.monitoring.register_scalar_listener(listen)
    jax.monitoring.record_event("/load", size=3)
    jax.monitoring.record_scalar("/loss", 0.5)
    jax.monitoring.unregister_event_listener(listen)
    jax.monitoring.record_event("/load")
    jax.monitoring.clear_event_listeners()
    jax.monitoring.record_scalar("/loss", 0.5)
    assert heard == [("/load", {"size": 3}), ("/loss", 0.5, {})]


def test_a_profile_is_started_and_stopped(tmp_path):
    jax.profiler.start_trace(str(tmp_path))
    with pytest.raises(RuntimeError, match=r"while a profile is running. Call stop_trace first\."):
        jax.profiler.start_trace("other")
    jax.numpy.ones(3).block_until_ready()
    jax.profiler.stop_trace()
    assert (tmp_path / "trace.json").exists()
    with pytest.raises(RuntimeError, match=r"no profile is running. Call start_trace first\."):
        jax.profiler.stop_trace()


def test_jitted_functions_are_wrapped():
    assert isinstance(jax.jit(abs), jax.stages.Wrapped)
    assert not isinstance(abs, jax.stages.Wrapped)
