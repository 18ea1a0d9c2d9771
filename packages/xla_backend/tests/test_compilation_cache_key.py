"""Which changes give a program another key, and which programs have none."""

import numpy as np
import pytest
from jaxlib.mlir import ir

from calque_core import lax, make_jaxpr, named_scope
from calque_xla_backend import compilation_cache, lower_jaxpr_to_module
from calque_xla_backend.compilation_cache import key as keys
from calque_xla_backend.compilation_cache.key import key_of
from calque_xla_backend.runtime.placement import placement
from calque_xla_backend.runtime.runtime import compile_options, mlir_context

TEXT = """
module @jit_f {{
  func.func public @main(%x: tensor<f64>) -> tensor<f64> {{
    %y = stablehlo.sine %x : tensor<f64> {location}
    {custom_call}
    return %y : tensor<f64> {location}
  }}
}}
"""


def parsed(location="", custom_call=""):
    return ir.Module.parse(TEXT.format(location=location, custom_call=custom_call), mlir_context())


def lowered(fun, name="f"):
    return lower_jaxpr_to_module(make_jaxpr(fun)(np.ones(3)), name=name).module


def key(module, *options):
    return key_of(module, compile_options(placement(), options), "cpu")


def defined(source):
    """Return the function `f` of a program's text."""
    namespace = {"lax": lax}
    exec(compile(source, "<program>", "exec"), namespace)
    return namespace["f"]


SOURCE = "def f(x):\n    y = lax.sin(x)\n    return y * 2.0\n"


def test_a_key_has_32_bytes_and_is_the_same_each_time():
    assert len(key(lowered(lax.sin))) == 32
    assert key(lowered(lax.sin)) == key(lowered(lax.sin))


@pytest.mark.parametrize(
    "location",
    [
        'loc("train.py":12:0)',
        'loc("moved.py":99:4)',
        'loc("jit(f)/layer/sin"("train.py":12:0))',
        'loc(callsite("sin"("train.py":3:0) at "train.py":12:0))',
    ],
)
def test_locations_and_scopes_are_no_part_of_the_key(location):
    assert key(parsed(location)) == key(parsed())


def test_a_comment_above_and_new_names_of_variables_change_nothing():
    commented = "# a comment\n\n" + SOURCE.replace("y", "renamed")
    assert key(lowered(defined(commented))) == key(lowered(defined(SOURCE)))


def test_the_name_of_the_function_is_part_of_the_key_since_profiles_show_it():
    assert key(lowered(lax.sin, "f")) != key(lowered(lax.sin, "g"))


def test_operations_constants_and_options_are_part_of_the_key(monkeypatch):
    modules = [lowered(lax.sin), lowered(lax.cos), lowered(lambda x: x * 2.0), lowered(lambda x: x * 3.0)]
    all_keys = [key(module) for module in modules]
    all_keys.append(key(modules[0], ("xla_cpu_enable_fast_math", True)))
    all_keys.append(key(modules[0], ("xla_cpu_enable_fast_math", False)))
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_min_max=true")
    all_keys.append(key(modules[0]))
    assert len(set(all_keys)) == len(all_keys)


def test_a_donated_argument_is_part_of_the_key():
    jaxpr = make_jaxpr(lax.sin)(np.ones(3))
    plain, donating = (lower_jaxpr_to_module(jaxpr, donated=donated).module for donated in ((), (0,)))
    assert key(plain) != key(donating)


def test_the_processor_and_the_release_of_jaxlib_are_part_of_the_key(monkeypatch):
    module = lowered(lax.sin)
    all_keys = [key(module)]
    for name, value in (("versions", lambda platform: (b"0.0",)), ("_processor", lambda: [b"other"])):
        keys._machine.cache_clear()
        with monkeypatch.context() as patch:
            patch.setattr(keys, name, value)
            all_keys.append(key(module))
    keys._machine.cache_clear()
    assert len(set(all_keys)) == 3
    assert key(module) == all_keys[0]


def test_the_processor_is_told_by_its_features_with_and_without_proc(monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("no such file")

    assert any(keys._processor())
    monkeypatch.setattr("builtins.open", fail)
    assert b"baseline" in keys._processor()[1]


def call_of(target):
    return f"%z = stablehlo.custom_call {target}(%x) : (tensor<f64>) -> tensor<f64>"


@pytest.mark.parametrize(
    "target", ["@xla_ffi_python_cpu_callback", "@xla_python_cpu_callback", "@mine", '@"mine with spaces"', '@"@"']
)
def test_a_program_that_calls_unknown_code_has_no_key(target):
    assert key(parsed(custom_call=call_of(target))) is None


def test_a_program_that_calls_jaxlibs_own_code_has_a_key():
    assert key(parsed(custom_call=call_of("@lapack_dpotrf_ffi"))) is not None


def test_a_target_that_the_user_vouches_for_is_part_of_the_key(monkeypatch):
    monkeypatch.setattr(keys, "_storable_targets", {})
    module = parsed(custom_call=call_of("@mine"))
    compilation_cache.register_storable_target("mine", "digest 1")
    first = key(module)
    compilation_cache.register_storable_target("mine", "digest 2")
    assert first not in (None, key(module))
    compilation_cache.register_storable_target("other", "digest")
    assert key(parsed(custom_call=call_of("@mine") + "\n" + call_of("@third").replace("%z", "%w"))) is None


@pytest.mark.parametrize(("name", "digest"), [(1, "digest"), ("mine", b"digest")])
def test_a_target_and_its_digest_are_strings(name, digest):
    with pytest.raises(TypeError, match=r"register_storable_target got (name=1|digest=b'digest')\. Use a string"):
        compilation_cache.register_storable_target(name, digest)


def test_a_program_has_no_key_while_xla_writes_files_about_it(monkeypatch, tmp_path):
    assert key(lowered(lax.sin), ("xla_dump_to", str(tmp_path))) is None
    monkeypatch.setenv("XLA_FLAGS", f"--xla_dump_to={tmp_path}")
    assert key(lowered(lax.sin)) is None


def test_a_named_scope_changes_nothing():
    def scoped(x):
        with named_scope("layer"):
            return lax.sin(x)

    assert "layer" in lowered(scoped).operation.get_asm(enable_debug_info=True)
    assert key(lowered(scoped)) == key(lowered(lambda x: lax.sin(x)))
