"""The stages of a jitted function ahead of its calls."""

import copy
import functools
import operator
import pickle
import re
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

from calque_core import ShapeDtypeStruct, config, lax, make_jaxpr
from calque_core.engine import advance_rule_epoch
from calque_pytree import leaves, structure
from calque_xla_backend import Array, compile, device_put, jit

X = np.arange(3.0)
TYPE = ShapeDtypeStruct((3,), np.float64)
DIALECTS = {"trace": ["jaxpr"], "lower": ["jaxpr", "hlo", "stablehlo"]}


def layer(params, x, *, scale=2.0):
    return {"out": params["w"] * x * scale}


@pytest.fixture
def compiled_modules(monkeypatch):
    """Return the list of the modules that XLA compiles during the test."""
    modules, load_or_compile = [], compile.load_or_compile
    monkeypatch.setattr(compile, "load_or_compile", lambda *args: modules.append(args) or load_or_compile(*args))
    return modules


@pytest.fixture
def compiled_layer():
    return jit(layer).lower({"w": X}, 3.0).compile()


# What a stage tells


def test_every_stage_tells_the_structures_and_types_of_arguments_and_results():
    traced = jit(layer, donate_argnums=0).trace({"w": TYPE}, np.float32(1.0), scale=2)
    lowered = traced.lower()
    for stage in (traced, lowered, lowered.compile()):
        assert stage.fun_name == "layer"
        assert stage.in_tree == structure((({"w": 0}, 0), {"scale": 0}))
        assert stage.out_tree == structure({"out": 0})
        assert structure(stage.args_info) == stage.in_tree
        assert [(info.shape, info.dtype.name, info.donated) for info in leaves(stage.args_info)] == [
            ((3,), "float64", True), ((), "float32", False), ((), "int64", False),
        ]  # fmt: skip
        assert [str(aval) for aval in leaves(stage.in_avals)] == ["float64[3]", "float32[]", "~int64[]"]
        assert structure(stage.in_avals) == stage.in_tree
        assert str(stage.out_avals["out"]) == "float64[3]"
        assert (stage.out_info["out"].shape, stage.out_info["out"].dtype) == ((3,), np.float64)
        assert re.fullmatch(
            r"<(Traced|Lowered|Compiled) layer: \(params\['w'\]: float64\[3\], .*\) -> \{'out': float64\[3\]\}>",
            repr(stage),
        )


def test_as_text_has_the_dialects_of_the_stage_and_lists_them():
    traced = jit(lax.sin).trace(X)
    lowered = traced.lower()
    compiled = lowered.compile()
    starts = {"jaxpr": "{ lambda", "hlo": "HloModule", "stablehlo": "module @jit_sin", "optimized_hlo": "HloModule"}
    for stage, dialects in ((traced, 1), (lowered, 3), (compiled, 4)):
        for dialect in list(starts)[:dialects]:
            assert stage.as_text(dialect).startswith(starts[dialect])
    assert traced.as_text() == traced.as_text("jaxpr") == str(make_jaxpr(lax.sin)(X))
    for stage in (lowered, compiled):
        assert "test_stages.py" in stage.as_text("stablehlo", debug_info=True)
        assert "test_stages.py" not in stage.as_text("stablehlo")
    assert lowered.as_text() == lowered.as_text("stablehlo") == compiled.as_text("stablehlo")
    assert compiled.as_text() == compiled.as_text("optimized_hlo") != compiled.as_text("hlo")
    with pytest.raises(
        ValueError,
        match=r"as_text at .* got the dialect 'hlo', which a Traced does not have\. It exists after lower\(\)\. "
        r"Use one of: jaxpr\.",
    ):
        traced.as_text("hlo")
    with pytest.raises(
        ValueError,
        match=r"'optimized_hlo', .* It exists after lower\(\)\.compile\(\)\. Use one of: jaxpr, hlo, stablehlo\.",
    ):
        lowered.as_text("optimized_hlo")
    with pytest.raises(
        ValueError, match=r"'mhlo', which a Compiled does not have\. Use one of: jaxpr, hlo, stablehlo, opt"
    ):
        compiled.as_text("mhlo")


def test_cost_and_memory_analysis_count_operations_and_bytes():
    lowered = jit(operator.matmul).lower(np.ones((4, 5)), np.ones((5, 6)))
    compiled = lowered.compile()
    assert lowered.cost_analysis()["flops"] == compiled.cost_analysis()["flops"] == 2 * 4 * 5 * 6
    assert compiled.memory_analysis().argument_size_in_bytes == 8 * (20 + 30)
    assert compiled.memory_analysis().output_size_in_bytes == 8 * 24
    assert compiled.runtime_executable().cost_analysis() == compiled.cost_analysis()


def test_eval_shape_of_a_jitted_function_uses_its_trace():
    traces = []
    f = jit(lambda x: traces.append(x) or {"y": lax.sin(x)})
    assert f.eval_shape(X)["y"].shape == f.eval_shape(TYPE)["y"].shape == (3,)
    f(X)
    assert len(traces) == f.cache_info().traces == 1


def test_the_type_of_a_weak_result_is_weak():
    f = jit(lambda x: x * 2)
    assert f.eval_shape(1.0) == f.lower(1.0).out_info == ShapeDtypeStruct((), np.float64, weak_type=f(1.0).weak_type)
    assert f.eval_shape(1.0).weak_type


# Arguments


class Point(NamedTuple):
    x: object
    y: object


class Model:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return x * self.w

    def shifted(self, x, by=1.0):
        return x * self.w + by


@pytest.mark.parametrize(
    ("fun", "args", "kwargs"),
    [
        (layer, ({"w": X}, 3.0), {}),
        (layer, ({"w": X},), {"x": 3.0, "scale": 4.0}),
        (lambda *xs, **named: xs[0] * xs[1] + named["z"], (X, 2.0), {"z": 1}),
        (lambda p, q=2.0: p.x * q - p.y[0], (Point(X, [2.0]),), {}),
        (Model(2.0), (X,), {}),
        (Model(2.0).shifted, (X,), {"by": 5.0}),
        (functools.partial(layer, {"w": X}, scale=1.0), (3.0,), {}),
        (lambda: X + 1.0, (), {}),
        (lambda x: (), (X,), {}),
        (lambda x, unused: x, (X, np.ones(4)), {}),
        (lambda x: x + np.arange(1000.0), (np.ones(1000),), {}),
    ],
)
def test_a_compiled_function_returns_what_the_jitted_function_returns(fun, args, kwargs):
    f = jit(fun)
    compiled = f.lower(*args, **kwargs).compile()
    for _ in range(3):  # the general path, then the one that compares less
        got, want = compiled(*args, **kwargs), f(*args, **kwargs)
        assert structure(got) == structure(want)
        for one, other in zip(compiled.out_tree.flatten_up_to(got), compiled.out_tree.flatten_up_to(want)):
            assert (type(one), one.dtype) == (Array, other.dtype)
            assert np.array_equal(one, other)


def test_types_and_arrays_mix_in_any_tree():
    compiled = jit(layer).lower({"w": TYPE}, np.float64(3.0), scale=ShapeDtypeStruct((), "int64")).compile()
    assert list(compiled({"w": device_put(X)}, 3.0, scale=2)["out"]) == [0.0, 6.0, 12.0]


def test_scalars_numpy_arrays_and_device_arrays_stand_for_each_other():
    compiled = jit(lambda x: x * 2.0).lower(1.0).compile()
    for x in (21.0, np.float64(21.0), np.array(21.0), device_put(21.0), device_put(np.float64(21.0))):
        assert compiled(x) == compiled(x) == 42.0


def test_static_arguments_are_part_of_the_program():
    f = jit(lambda n, x, *, mode: x**n if mode == "power" else x, static_argnums=0, static_argnames="mode")
    compiled = f.lower(3, X, mode="power").compile()
    assert compiled.in_tree == structure(((0,), {}))
    assert list(compiled(X)) == list(X**3)
    for args, kwargs in (((3, X), {}), ((X,), {"mode": "power"})):
        with pytest.raises(
            TypeError,
            match=r"it takes 1 argument by position \(x\) and none by name, but .* The value of n, mode, which are "
            r"static, is part of the program; do not pass it again",
        ):
            compiled(*args, **kwargs)


def test_a_static_argument_at_a_negative_position_is_left_out():
    f = jit(lambda *xs: xs[0] * xs[-1], static_argnums=-1)
    assert f.lower(X, 2).compile()(X)[2] == 4.0


def test_a_donated_argument_is_deleted_by_the_compiled_function():
    compiled = jit(lambda x, y: x + y, donate_argnames="x").lower(TYPE, TYPE).compile()
    x, y = device_put(X), device_put(X)
    assert list(compiled(x, y)) == [0.0, 2.0, 4.0]
    assert x.is_deleted()
    assert not y.is_deleted()
    with pytest.raises(RuntimeError, match="was deleted"):
        compiled(x, y)


# One program


def test_the_stages_and_the_jitted_function_share_one_trace_and_one_program(compiled_modules):
    traces = []
    f = jit(lambda x: traces.append(x) or x + 1.0)
    f.lower(TYPE).compile()(X)
    f(X)
    f(X)
    f.lower(X).compile()
    assert (len(traces), len(compiled_modules)) == (1, 1)
    g = jit(lambda x: x + 2.0)
    g(X)
    g.lower(TYPE).compile()
    assert len(compiled_modules) == 2


def test_a_call_of_a_compiled_function_neither_traces_nor_compiles(compiled_modules):
    traces = []
    f = jit(lambda x: traces.append(x) or x + 1.0)
    compiled = f.lower(X).compile()
    f.clear_cache()
    advance_rule_epoch()
    with config.enable_checks():
        compiled(X)
    with pytest.raises(TypeError):
        compiled(np.float32(1.0))
    assert (len(traces), len(compiled_modules)) == (1, 1)


def test_compiler_options_add_to_those_of_jit(compiled_modules):
    f = jit(lambda x: x + 1.0, compiler_options={"xla_cpu_enable_fast_math": False})
    compiled = f.lower(X).compile({"xla_backend_optimization_level": 0})
    assert compiled(X)[1] == 2.0
    assert dict(compiled_modules[0][2]) == {"xla_backend_optimization_level": 0, "xla_cpu_enable_fast_math": False}
    with pytest.raises(RuntimeError, match="xla_no_such_flag"):
        f.lower(X).compile({"xla_no_such_flag": True})


def test_the_settings_of_the_trace_hold_for_all_stages():
    with config.enable_x64(False):
        traced = jit(lambda x: x * 2.0).trace(1.0)
    compiled = traced.lower().compile()
    assert compiled.args_info[0][0].dtype == np.float32
    assert compiled(np.float32(3.0)).dtype == np.float32
    with pytest.raises(TypeError, match=r"x is ~float64\[\] instead of ~float32\[\]"):
        compiled(3.0)
    with config.enable_x64(False):
        assert compiled(3.0) == compiled(3.0) == 6.0
    with pytest.raises(TypeError, match=r"x is ~float64\[\] instead of ~float32\[\]"):
        compiled(3.0)


def test_a_compiled_function_in_a_trace_runs_on_known_values():
    compiled = jit(lambda x: x * 2.0).lower(X).compile()
    jaxpr = make_jaxpr(lambda y: y + compiled(X))(X)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["add"]


def test_nans_of_a_compiled_function_are_found():
    compiled = jit(lambda x: lax.log(x) + 1.0).lower(1.0).compile()
    with (
        config.debug_nans(),
        np.errstate(invalid="ignore"),
        pytest.raises(FloatingPointError, match=r"log of -1\.0 gave nan"),
    ):
        compiled(-1.0)


# Refusals


def test_other_types_are_named_with_the_types_of_the_program(compiled_layer):
    with pytest.raises(
        TypeError,
        match=r"the compiled layer \(test_stages\.py:\d+\) at test_stages\.py:\d+ \(\w+\): params\['w'\] is "
        r"float32\[3\] instead of float64\[3\]; x is ~int64\[\] instead of ~float64\[\]\. Convert the "
        r"arguments, or call the jitted function",
    ):
        compiled_layer({"w": X.astype(np.float32)}, 3)


def test_at_most_five_differences_are_listed():
    compiled = jit(lambda *xs: xs[0]).lower(*[1.0] * 8).compile()
    with pytest.raises(TypeError, match=r"xs\[4\] is ~int64\[\] instead of ~float64\[\]; and 3 more\. Conv"):
        compiled(*[1] * 8)
    compiled = jit(lambda d: d["0"]).lower({str(i): 1.0 for i in range(8)}).compile()
    with pytest.raises(TypeError, match=r"d\['1'\] is missing; .*d\['5'\] is missing; and 2 more\. Call it"):
        compiled({"0": 1.0})


def test_other_structures_are_named_by_path(compiled_layer):
    with pytest.raises(
        TypeError, match=r"another structure: params\['w'\] is missing; params\['v'\]\[0\] is not in the program\. Call"
    ):
        compiled_layer({"v": [X]}, 3.0)
    compiled = jit(lambda pair: pair[0]).lower((X, X)).compile()
    with pytest.raises(
        TypeError, match=r"PyTreeDef\(\(\(\[\*, \*\],\), \{\}\)\) instead of PyTreeDef\(\(\(\(\*, \*\),\), \{\}\)\)"
    ):
        compiled([X, X])


def test_an_argument_by_an_unknown_name_is_refused_with_the_known_ones(compiled_layer):
    with pytest.raises(
        TypeError,
        match=r"it takes 2 arguments by position \(params, x\) and none by name, but the call has 1 argument "
        r"by position and y= by name\. Call it as it was lowered",
    ):
        compiled_layer({"w": X}, y=3.0)


def test_a_traced_value_is_refused_with_the_reason():
    compiled = jit(lambda x: x * 2.0).lower(1.0).compile()
    with pytest.raises(
        TypeError,
        match=r"x is a traced value of type ~float64\[\], and a transformation cannot look into a compiled "
        r"program\. Transform the jitted",
    ):
        jit(lambda y: compiled(y))(1.0)


def test_values_that_are_no_arrays_are_named():
    compiled = jit(lambda x: x * 2.0).lower(X).compile()
    with pytest.raises(TypeError, match=r"the compiled <lambda> .*: x is 'a' of type str, which is not an array"):
        compiled("a")
    with pytest.raises(TypeError, match=r"x is a type, ShapeDtypeStruct.*\. Pass an array"):
        compiled(TYPE)


def test_an_integer_that_does_not_fit_is_an_overflow_error():
    compiled = jit(lambda x: x + np.int8(1)).lower(3).compile()
    assert compiled(100) == 101
    for _ in range(2):
        with pytest.raises(OverflowError, match=r"the compiled <lambda>.*: the argument x is the Python integer 300"):
            compiled(300)


def test_a_function_that_uses_a_traced_value_has_no_stages():
    @jit
    def outer(x):
        def g(y):
            return x * y

        return jit(g).lower(1.0)

    with pytest.raises(
        TypeError, match=r"jit of g .*: the function uses a value of type ~float64\[\] that an enclosing tr"
    ):
        outer(2.0)


def test_a_program_for_another_platform_has_a_text_and_no_executable():
    lowered = jit(lambda x: lax.platform_dependent(x, cuda=lax.sin, default=lax.cos)).trace(1.0).lower(platform="cuda")
    assert "stablehlo.sine" in lowered.as_text()
    assert "stablehlo.cosine" not in lowered.as_text()
    with pytest.raises(
        ValueError, match=r"the program was lowered for 'cuda', and its device is .*\. Lower it without platform="
    ):
        lowered.compile()


def test_arrays_on_another_device_are_refused():
    code = """
import numpy as np
from calque_core.config import cpu_devices
cpu_devices(2)
from calque_xla_backend import device_put, devices, jit
first, second = devices()
compiled = jit(lambda x: x + 1.0).lower(1.0).compile()
try:
    compiled(device_put(1.0, second))
except ValueError as error:
    print(error)
there = jit(lambda x: x + 1.0).lower(device_put(1.0, second)).compile()
print(there(device_put(1.0, second)).device == second, there(np.float64(1.0)).device == second)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    message, there = out.splitlines()
    assert re.search(r"the compiled <lambda>.*: x is on .*1.*, but the program runs on .*0.*\. Move it there", message)
    assert there == "True True"


def test_tracing_and_lowering_start_no_client():
    code = """
from calque_xla_backend import jit
from calque_xla_backend.runtime.clients import started_clients
lowered = jit(lambda x: x + 1.0).lower(1.0)
print(lowered.platform, len(started_clients()))
lowered.compile()
print(len(started_clients()))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out == "cpu 0\n1\n"


@pytest.mark.parametrize("make", [lambda traced: traced, lambda traced: traced.lower(), lambda t: t.lower().compile()])
def test_copies_share_a_stage_and_pickle_names_export(make):
    stage = make(jit(layer).trace({"w": X}, 3.0))
    assert copy.deepcopy([stage])[0] is stage
    with pytest.raises(TypeError, match=r"^a stage of a compiled function cannot be pickled: .* calque\.export\.$"):
        pickle.dumps(stage)


def test_the_module_has_two_dialects():
    lowered = jit(np.sin).lower(X)
    assert lowered.compiler_ir(dialect="stablehlo") is lowered.compiler_ir()
    assert lowered.compiler_ir("hlo").as_hlo_text() == lowered.as_text("hlo")
    words = r"compiler_ir at test_stages.py:.* got the dialect 'mhlo'\. Use 'stablehlo' or 'hlo', or as_text, which"
    with pytest.raises(ValueError, match=words):
        lowered.compiler_ir("mhlo")
