import subprocess
import sys
import textwrap

import numpy as np
import pytest

import calque_xla_backend
from calque_core import ShapeDtypeStruct, make_jaxpr
from calque_xla_backend import (
    Array,
    block_until_ready,
    default_backend,
    device_count,
    device_get,
    device_put,
    devices,
    jit,
    local_devices,
    make_mesh,
)
from calque_xla_backend.runtime import devices as module


def run(program, **environment):
    """Run a program in a process of its own; return its standard output and its standard error."""
    import os  # noqa: PLC0415

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True, text=True, env=os.environ | environment, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_there_is_a_cpu():
    assert default_backend() == "cpu"
    assert device_count() == len(devices()) >= 1


def test_put_and_get_are_inverse_on_pytrees():
    tree = {"w": np.ones((2, 3), np.float32), "b": [1, 2.5, True, None]}
    on_device = device_put(tree)
    assert type(on_device["b"][0]) is Array
    back = device_get(on_device)
    np.testing.assert_array_equal(back["w"], tree["w"])
    assert [x if x is None else x.item() for x in back["b"]] == [1, 2.5, True, None]
    assert device_put(on_device)["w"] is on_device["w"]


def test_a_leaf_that_is_no_array_is_refused_by_path():
    with pytest.raises(TypeError, match=r"device_put.*x\['a'\] is 'text' of type str"):
        device_put({"a": "text"})


def test_a_traced_value_passes_through():
    assert make_jaxpr(lambda x: device_put(x))(1.0).eqns == ()


def test_block_until_ready_takes_a_pytree_and_returns_it():
    tree = {"a": jit(lambda x: x + 1.0)(1.0), "b": 3}
    assert block_until_ready(tree) is tree


def test_block_until_ready_asks_the_runtime_once_for_a_tree(monkeypatch):
    asked = []
    monkeypatch.setattr(module, "wait_for_all", asked.append)
    x, y = device_put((1.0, 2.0))
    block_until_ready({"a": [x, 3], "b": y})
    assert asked == [[x._buffer, y._buffer]]


def test_block_until_ready_names_the_array_that_is_gone():
    tree = {"a": device_put(1.0), "b": device_put(np.ones(3, np.float32))}
    tree["b"].delete()
    with pytest.raises(RuntimeError, match=r"^an array of type float32\[3\] was used after it was deleted or donated"):
        block_until_ready(tree)


def test_every_public_name_is_there():
    for name in calque_xla_backend.__all__:
        assert getattr(calque_xla_backend, name) is not None


def test_importing_and_running_is_quiet_and_imports_neither_jax_nor_scipy():
    out, err = run(
        """
        import sys
        import numpy as np
        from calque_xla_backend import jit
        f = jit(lambda x: (np.sin(x), x))
        f(1.0); f(np.ones(3)); f(f(1.0)[0]); str(f(1.0)[0]); f(1.0)[0] + 2.0
        print(sorted(name for name in ("jax", "scipy") if name in sys.modules))
        """
    )
    assert (out, err) == ("[]\n", "")


def test_two_devices():
    out, _ = run(
        """
        import numpy as np
        from calque_xla_backend import device_put, devices, jit
        one, two = devices()
        f = jit(lambda x, y: x + y)
        x, y = device_put(1.0, one), device_put(2.0, two)
        for _ in range(3):
            print(f(x, x).device.id, f(y, y).device.id, f(y, 3.0).device.id, (y + y).device.id, y[None].device.id)
        print(device_put(y, one).device.id, device_put(y).device.id)
        for g in (f, lambda x, y: x + y):
            try:
                g(x, y)
            except ValueError as error:
                print(error)
        """,
        XLA_FLAGS="--xla_force_host_platform_device_count=2",
    )
    *same, put, jitted, added = out.splitlines()
    assert same == ["0 1 1 1 1"] * 3
    assert put == "0 1"
    assert jitted.startswith("jit of <lambda> got arrays on ")
    assert jitted.endswith("Move them to one device with device_put.")
    assert added.startswith("add got arrays on ")


PEER = """
    import numpy as np
    {first}
    {second}
    import jax, jax.numpy as jnp
    jax.config.update("jax_enable_x64", {x64})
    from calque_xla_backend import device_put, jit
    ours, theirs = jit(lambda x, y: x * y), jax.jit(lambda x, y: x * y)
    for _ in range(3):
        a, b = ours(np.float64(2.0), device_put(3.0)), theirs(np.float64(2.0), jnp.asarray(3.0))
        print(a.dtype, type(a).__module__, b.dtype, type(b).__name__, float(a), float(b))
    print(repr(b + b), repr(a + a))
"""


@pytest.mark.parametrize("x64", [True, False])
@pytest.mark.parametrize("first_is_jax", [True, False])
def test_jax_in_the_same_process_changes_nothing_on_either_side(first_is_jax, x64):
    pytest.importorskip("jax", reason="jax, which only this test needs, is not installed")
    first, second = ("import jax", "import calque_xla_backend")[:: 1 if first_is_jax else -1]
    out, _ = run(PEER.format(first=first, second=second, x64=x64), TF_CPP_MIN_LOG_LEVEL="1")
    *lines, last = out.splitlines()
    bits = 64 if x64 else 32
    assert lines == [f"float64 calque_xla_backend.runtime.array float{bits} ArrayImpl 6.0 6.0"] * 3
    assert last == f"Array(12., dtype=float{bits}) Array(12., dtype=float64)"


def test_devices_of_a_platform():
    assert calque_xla_backend.devices("cpu") == calque_xla_backend.devices()
    with pytest.raises(
        RuntimeError, match=r"devices at \S*test_devices.py:\d+ .* got backend='gpu'.* Use one of: cpu\."
    ):
        calque_xla_backend.devices("gpu")


@pytest.mark.parametrize("wrong", [[], "cpu", 3])
def test_a_mesh_of_no_devices_is_refused(wrong):
    with pytest.raises(TypeError, match=r"make_mesh at .*test_devices.py.* got devices=.*\. Give devices"):
        make_mesh((1,), ("x",), devices=wrong)


def test_a_type_is_not_put_on_a_device():
    with pytest.raises(TypeError, match=r"x\['a'\] is ShapeDtypeStruct\(.*\), a type instead of an array"):
        device_put({"a": ShapeDtypeStruct((3,), "float32")})


ASKING = {  # each way to ask for a platform by name
    "devices": devices,
    "local_devices": local_devices,
    "jit": lambda name: jit(np.sin, backend=name)(1.0),
}


@pytest.mark.parametrize("ask", ASKING.values(), ids=ASKING)
@pytest.mark.parametrize("name", ["nonsense", "tpu"])
def test_a_platform_that_this_machine_lacks_is_a_runtime_error_as_ported_programs_expect(ask, name):
    with pytest.raises(RuntimeError, match=rf"got backend='{name}', but there is no such device\. Use one of: .*cpu"):
        ask(name)
