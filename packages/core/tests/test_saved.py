"""Programs as plain data: what comes back, what is refused, and what errors say."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest

from calque_core import (
    AbstractMesh,
    Mesh,
    PartitionSpec,
    Primitive,
    ShapedArray,
    config,
    eval_jaxpr,
    jaxpr_equal,
    jaxpr_from_dict,
    jaxpr_to_dict,
    lax,
    make_jaxpr,
    pure_callback,
    stage,
)
from calque_core.primitives.rules import primitives
from calque_core.saved.rules import read_count
from calque_core.saved.values import read_type, read_value, write_type, write_value


def through_json(jaxpr):
    return jaxpr_from_dict(json.loads(json.dumps(jaxpr_to_dict(jaxpr), allow_nan=False)))


no_inner = lambda x: None
VALUES = [
    None, True, -3, 10**30, 0.1, -0.0, 1 + 2j, "text", (), (1, (2.0, "x")), [1, [2]], {"a": 1, 2: (3,)},
    slice(1, None, 2), np.dtype("float32"), np.float16(0.1), np.bool_(True), lax.Precision.HIGH, lax.sin_p,
    frozenset(("i", "j")), ShapedArray((2,), "int8"), PartitionSpec("i", None, ("j", "k")), AbstractMesh((2,), ("i",)),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back(value):
    again = read_value(json.loads(json.dumps(write_value(value, no_inner))), no_inner)
    assert type(again) is type(value)
    assert again == value
    assert repr(again) == repr(value)


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), float("nan"), complex(float("nan"), -0.0)])
def test_numbers_that_json_lacks_come_back(value):
    again = read_value(json.loads(json.dumps(write_value(value, no_inner), allow_nan=False)), no_inner)
    assert repr(again) == repr(value)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64", "complex64", "bfloat16", "int4"])
@pytest.mark.parametrize("shape", [(), (0, 2), (3, 2)])
def test_arrays_come_back_bit_by_bit(dtype, shape):
    pytest.importorskip("ml_dtypes", reason="bfloat16 and int4 need ml_dtypes")
    array = np.asarray(np.arange(np.prod(shape)).reshape(shape) % 2).astype(np.dtype(dtype))
    again = read_value(write_value(array, no_inner), no_inner)
    assert (again.dtype, again.shape, again.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert again.flags.writeable


def test_arrays_are_stored_the_lowest_byte_first():
    big = np.array([1, 2], ">i2")
    assert write_value(big, no_inner) == {"array": ["int16[2]", "AQACAA=="]}


@pytest.mark.parametrize(
    "text", ["float32[2,3]", "~float64[]", "int8[0]", "float0[2]", "float32[4]{V:i}", "bool[]{V:(i,j)}"]
)
def test_types_come_back(text):
    assert write_type(read_type(text)) == text


def test_weak_types_and_constants_come_back():
    table = np.arange(3.0)
    jaxpr = make_jaxpr(lambda x: (lax.mul(table, 2.0), x * 3, table))(1.5)
    again = through_json(jaxpr)
    assert jaxpr_equal(again, jaxpr)
    assert again.in_avals == [ShapedArray((), "float64", weak_type=True)]
    assert len(jaxpr_to_dict(jaxpr)["constants"]) == 1


def test_programs_in_many_equations_are_stored_once():
    jaxpr = stage(lambda x: [x], [ShapedArray((), "float64")])
    for _ in range(60):
        inner = jaxpr
        call = lambda x, inner=inner: lax.jit_p.bind(x, jaxpr=inner, name="f", compiler=None)
        jaxpr = stage(lambda x, call=call: call(*call(x)), [ShapedArray((), "float64")])
    assert len(jaxpr_to_dict(jaxpr)["jaxprs"]) == 61
    assert str(through_json(jaxpr)) == str(jaxpr)


def test_deep_programs_need_no_recursion():
    jaxpr = stage(lambda x: [lax.sin(x)], [ShapedArray((), "float64")])
    for _ in range(3 * sys.getrecursionlimit()):
        jaxpr = stage(
            lambda x, inner=jaxpr: lax.jit_p.bind(x, jaxpr=inner, name="f", compiler=None), [ShapedArray((), "float64")]
        )
    again = jaxpr_from_dict(jaxpr_to_dict(jaxpr))
    assert jaxpr_equal(again, jaxpr)


REFUSED = {
    "a callback": (
        lambda x: pure_callback(np.sin, x, x),
        "parameter 'callback' of 'pure_callback'.*A callback is Python code",
    ),
    "a compiler": (
        lambda x: lax.jit_p.bind(x, jaxpr=make_jaxpr(lax.sin)(1.0), name="f", compiler=lambda jaxpr, args: args),
        "parameter 'compiler' of 'jit' at .*test_saved.py.* is a Python function, <lambda>, which cannot be stored",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_python_is_refused_by_name(case):
    function, message = REFUSED[case]
    with pytest.raises(TypeError, match=f"jaxpr_to_dict: the {message}"):
        jaxpr_to_dict(make_jaxpr(function)(1.0))


def test_devices_and_static_objects_are_refused():
    probe_p = Primitive("probe_of_saved")
    probe_p.def_abstract_eval(lambda x, *, value: x)
    for value, message in ((Mesh(["a"], "i"), "Mesh.*trace the program with an AbstractMesh"), (object(), "object")):
        jaxpr = stage(lambda x, value=value: [probe_p.bind(x, value=value)], [ShapedArray((), "float64")])
        with pytest.raises(TypeError, match=f"'value' of 'probe_of_saved'.*{message}"):
            jaxpr_to_dict(jaxpr)


def test_a_function_in_place_of_a_program_is_refused():
    with pytest.raises(TypeError, match=re.escape("Trace it first: jaxpr = make_jaxpr(f)(*args)")):
        jaxpr_to_dict(np.sin)


def data_of(name, family):
    data = jaxpr_to_dict(make_jaxpr(lax.sin)(1.0))
    data["jaxprs"][0]["eqns"][0] |= {"primitive": name, "family": family}
    return data


def test_an_unknown_primitive_names_the_package_to_install():
    with pytest.raises(
        ValueError, match=r"jaxprs\[0\].eqns\[0\]: the primitive 'tide' of the module calque_sea.ops is unknown"
    ):
        jaxpr_from_dict(data_of("tide", "calque_sea.ops"))
    with pytest.raises(ValueError, match=re.escape("Import calque_sea first. Install it: pip install calque-sea")):
        jaxpr_from_dict(data_of("tide", "calque_sea.ops"))
    with pytest.raises(ValueError, match="Import the module that declares it first"):
        jaxpr_from_dict(data_of("tide", "__main__"))


def test_a_primitive_that_moved_is_found_by_its_name():
    assert jaxpr_equal(jaxpr_from_dict(data_of("sin", "calque_core.ops.older")), make_jaxpr(lax.sin)(1.0))


def test_two_primitives_of_one_name_are_told_apart_by_the_family():
    twin_p = Primitive("sin")
    twin_p.def_abstract_eval(lambda x: x)
    twin_p.family = "tests.twin"
    for primitive in (twin_p, lax.sin_p):
        jaxpr = stage(lambda x, p=primitive: [p.bind(x)], [ShapedArray((), "float64")])
        assert through_json(jaxpr).eqns[0].primitive is primitive
    with pytest.raises(ValueError, match="several modules declare a primitive 'sin'"):
        jaxpr_from_dict(data_of("sin", "elsewhere"))
    primitives.discard(twin_p)


def test_a_package_that_requires_core_is_imported_and_no_other(tmp_path, monkeypatch):
    source = "from calque_core import Primitive\n{0}_p = Primitive('{0}')\n{0}_p.def_abstract_eval(lambda x: x)\n"
    for package in ("requires_core", "stranger"):
        (tmp_path / f"{package}.py").write_text(source.format(f"of_{package}"))
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        requirement = "Requires-Dist: calque-core>=0.1\n" if package == "requires_core" else ""
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n{requirement}")
        (info / "top_level.txt").write_text(package)
    monkeypatch.syspath_prepend(tmp_path)
    loaded = jaxpr_from_dict(data_of("of_requires_core", "requires_core"))
    assert loaded.eqns[0].primitive is sys.modules["requires_core"].of_requires_core_p
    with pytest.raises(ValueError, match="the primitive 'of_stranger' of the module stranger is unknown"):
        jaxpr_from_dict(data_of("of_stranger", "stranger"))
    assert "stranger" not in sys.modules
    del sys.modules["requires_core"]


@pytest.mark.parametrize("x", [-1, 1.0, True, 1 << 20])
def test_what_is_no_count_is_refused(x):
    with pytest.raises(ValueError, match=rf"^{x!r} is not a count\. Write an integer from 0 to 1048575\.$"):
        read_count(x)


WRONG = {
    "version": (("version",), 2, "version: this release reads version 1"),
    "format": (("format",), "onnx", "format: this is no dict of the format 'calque jaxpr'"),
    "main": (("main",), 9, "main: this is no number below 1"),
    "alias": (("jaxprs", 0, "types", 0), "a[]", r"jaxprs[0].types[0]: 'a' is no dtype"),  # NumPy warns of this name
    "type": (("jaxprs", 0, "types", 0), "float65[]", r"jaxprs[0].types[0]: 'float65' is no dtype"),
    "operand": (("jaxprs", 0, "eqns", 0, "in", 0), 1, "jaxprs[0].eqns[0].in[0]: the variable 1 is not bound"),
    "result": (("jaxprs", 0, "eqns", 0, "out", 0), 0, "jaxprs[0].eqns[0].out: the variable 0 is bound twice"),
    "parameter": (
        ("jaxprs", 0, "eqns", 0, "params", "axes"),
        {"tuple": [{"file": "x"}]},
        "jaxprs[0].eqns[0].params['axes']: there is no kind of values 'file'",
    ),
    "types": (("jaxprs", 0, "types", 1), "float64[9]", "jaxprs[0].eqns[0]: the results are declared (float64[9])"),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_name_the_path(case):
    path, value, message = WRONG[case]
    data = jaxpr_to_dict(make_jaxpr(lambda x: lax.reduce_sum(x, (0,)))(np.ones((2, 3))))
    *outer, key = path
    holder = data
    for step in outer:
        holder = holder[step]
    holder[key] = value
    with pytest.raises(ValueError, match=re.escape(f"jaxpr_from_dict: {message}")):
        jaxpr_from_dict(data)


def test_data_nested_without_end_is_refused():
    value = {"tuple": []}
    for _ in range(2 * sys.getrecursionlimit()):
        value = {"tuple": [value]}
    data = data_of("sin", "calque_core.ops")
    data["jaxprs"][0]["eqns"][0]["params"]["axes"] = value
    with pytest.raises(ValueError, match="the data is nested too deeply"):
        jaxpr_from_dict(data)


def test_programs_are_read_under_other_settings_as_they_were():
    jaxpr = make_jaxpr(lambda x: lax.mul(x, np.float64(2.0)))(np.ones(3))
    data = jaxpr_to_dict(jaxpr)
    with config.enable_x64(False):
        assert jaxpr_equal(jaxpr_from_dict(data), jaxpr)
    [out] = eval_jaxpr(jaxpr_from_dict(data), (), np.ones(3))
    np.testing.assert_array_equal(out, 2.0)
