"""Exported functions: what they return, what they refuse, and what damage does to their bytes."""

import copy
import pickle
import subprocess
import sys
from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest

from calque_core import Primitive, ShapeDtypeStruct, config, debug, lax, make_jaxpr, pure_callback
from calque_pytree import structure, tree_structure
from calque_xla_backend import (
    Exported,
    ExportError,
    compile,
    deserialize,
    device_put,
    export,
    hlo,
    jit,
    register_lowering,
    register_pytree_node_serialization,
)
from calque_xla_backend.artefacts import trees
from calque_xla_backend.artefacts.format import seal, unseal

FOLDER = Path(__file__).parent
X = np.arange(3.0)
TYPE = ShapeDtypeStruct((3,), np.float64)
LARGE = np.arange(2000.0)


def layer(params, x, *, scale=2.0):
    return {"out": lax.sin(params["w"]) * x * scale, "n": (3, x)}


def round_trip(fun, *args, **kwargs):
    return deserialize(export(jit(fun))(*args, **kwargs).serialize())


@pytest.fixture(scope="module")
def exported_layer():
    return export(jit(layer))({"w": TYPE}, 3.0, scale=np.float32(2.0))


@pytest.fixture
def registered():
    """Forget at the end the classes that the test registers."""
    before = dict(trees._by_class), dict(trees._by_name)
    yield register_pytree_node_serialization
    for table, old in zip((trees._by_class, trees._by_name), before):
        table.clear()
        table.update(old)


# Round trips


def test_a_deserialized_function_returns_what_the_function_returns(exported_layer):
    again = deserialize(exported_layer.serialize())
    args = {"w": X}, 3.0
    want = jit(layer)(*args, scale=np.float32(2.0))
    for exported in (exported_layer, again):
        got = exported.call(*args, scale=np.float32(2.0))
        assert structure(got) == structure(want)
        assert np.array_equal(got["out"], want["out"])
        assert got["n"][0].dtype == want["n"][0].dtype
        assert repr(got["n"]) == repr(want["n"])  # weak, as the results of the function


def test_it_tells_what_it_takes_and_returns(exported_layer):
    again = deserialize(exported_layer.serialize())
    assert again.fun_name == "layer"
    assert again.in_tree == structure((({"w": 0}, 0), {"scale": 0}))
    assert again.out_tree == structure({"out": 0, "n": (0, 0)})
    assert [str(aval) for aval in again.in_avals] == ["float64[3]", "~float64[]", "float32[]"]
    assert again.in_avals == exported_layer.in_avals
    assert again.out_avals == exported_layer.out_avals
    assert again.platforms == ("cpu",)
    assert again.versions.keys() == {"calque", "jaxlib"}
    assert again.calling_convention_version == 1
    assert "stablehlo.sine" in again.mlir_module()
    assert again.mlir_module_serialized == exported_layer.mlir_module_serialized
    assert again.serialize() == exported_layer.serialize()
    assert repr(again).startswith(
        "<Exported layer: (params['w']: float64[3], x: ~float64[], scale: float32[]) -> {'n': ("
    )


DTYPES = ("bool", "int4", "uint8", "int64", "bfloat16", "float8_e5m2", "float16", "float32", "complex64", "complex128")


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_travels(dtype):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = np.array([[0, 1, 2], [3, 0, 1]]).astype(dtype)
    constant = np.resize(x, (500, 6))  # a part of its own
    again = round_trip(lambda x: (x, lax.slice(constant, (0, 0), (1, 6))), x)
    got, row = again.call(x)
    assert (got.dtype, row.dtype) == (dtype, dtype)
    assert np.array_equal(np.asarray(got), x)
    assert np.array_equal(np.asarray(row)[0], x.reshape(-1))


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,) * 6])
def test_every_shape_travels(shape):
    assert round_trip(lambda x: x + 1.0, np.zeros(shape)).call(np.zeros(shape)).shape == shape


def test_large_constants_travel_with_the_function():
    inner = jit(lambda x: x + LARGE)
    exported = round_trip(lambda x: inner(x) * LARGE[::-1] + LARGE, np.ones(2000))
    assert 'dense<"0x' not in exported.mlir_module()
    assert np.array_equal(exported.call(np.ones(2000)), (1.0 + LARGE) * LARGE[::-1] + LARGE)


def test_static_arguments_and_other_spellings():
    f = jit(lambda x, n, *, shift=1.0: x**n + shift, static_argnames="n")
    exported = deserialize(export(f)(X, 3, shift=2.0).serialize())
    assert list(exported.call(X, shift=2.0)) == list(exported.call(x=X, shift=2.0)) == [2.0, 3.0, 10.0]


def test_branches_loops_and_special_functions_travel():
    def program(x):
        y = lax.fori_loop(0, 3, lambda _, x: lax.cond(x[0] > 0, lax.sin, lax.asinh, x), x)
        return lax.top_k(lax.erf_inv(y * 0.1), 2), lax.sort(x)

    x = np.array([0.5, 0.2, 0.9])
    for got, want in zip(round_trip(program, x).call(x), jit(program)(x)):
        for one, other in zip(tree_leaves(got), tree_leaves(want)):
            np.testing.assert_allclose(one, other, rtol=1e-15)


def tree_leaves(tree):
    return tree_structure(tree).flatten_up_to(tree)


def test_two_calls_in_one_program_share_one_function():
    exported = round_trip(lambda x: lax.sin(x), X)
    f = jit(lambda x: exported.call(x) + exported.call(2.0 * x))
    assert f.lower(X).as_text().count("stablehlo.sine") == 1
    np.testing.assert_allclose(f(X), np.sin(X) + np.sin(2.0 * X), rtol=1e-15)


def test_functions_of_one_name_in_one_program_stay_apart():
    first, second = (round_trip(jit(lambda x, k=k: x * k), X) for k in (2.0, 3.0))
    assert list(jit(lambda x: first.call(x) + second.call(x) + jit(lambda main: main)(x))(X)) == [0.0, 6.0, 12.0]


def test_an_exported_function_is_exported_again():
    exported = round_trip(lambda x: x + LARGE, LARGE)
    again = round_trip(lambda x: exported.call(x) * 2.0, LARGE)
    assert np.array_equal(again.call(LARGE), 4.0 * LARGE)


def test_a_call_compiles_once(monkeypatch):
    modules, load_or_compile = [], compile.load_or_compile
    monkeypatch.setattr(compile, "load_or_compile", lambda *args: modules.append(args) or load_or_compile(*args))
    exported = round_trip(lambda x: x + 1.0, X)
    for x in (X, device_put(X), X):
        assert exported.call(x)[2] == 3.0
    assert len(modules) == 1


def test_a_call_under_a_trace_is_an_equation():
    exported = round_trip(lambda x: x + 1.0, X)
    jaxpr = make_jaxpr(exported.call)(X)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["jit"]
    assert "call_exported[name=" in str(jaxpr)
    with config.disable_jit():
        assert list(exported.call(X)) == list(jit(exported.call)(X)) == [1.0, 2.0, 3.0]


def test_another_process_without_the_function_runs_it(tmp_path):
    path = tmp_path / "layer.calque"
    path.write_bytes(export(jit(layer))({"w": TYPE}, 3.0).serialize())
    code = f"""
import sys
from pathlib import Path
import numpy as np
from calque_xla_backend import deserialize
exported = deserialize(Path({str(path)!r}).read_bytes())
print(np.asarray(exported.call({{"w": np.arange(3.0)}}, 3.0)["out"]).tolist())
print([name for name in sys.modules if "test_export" in name or name in ("pickle", "calque_autodiff", "jax")])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    out, modules = run.stdout.splitlines()
    assert out == str(np.asarray(jit(layer)({"w": X}, 3.0)["out"]).tolist())
    assert "test_export" not in modules
    assert "calque_autodiff" not in modules
    assert "'jax'" not in modules


@pytest.mark.parametrize("release", ["0.10.2", "0.12.0.1"])
def test_bytes_of_another_release_of_jaxlib_are_read(release):
    exported = deserialize((FOLDER / "exported" / f"jaxlib-{release}.bin").read_bytes())
    assert exported.versions["jaxlib"] == release
    x = np.array([0.1, 0.7, 0.4])
    asin, (largest, _) = exported.call({"x": x, "k": 2.0})
    np.testing.assert_allclose(asin, np.arcsin(x) * 2.0, rtol=1e-15)
    assert list(largest) == [0.7, 0.4]


# Structures


class Point(NamedTuple):
    x: object
    y: object


def test_containers_of_python_travel():
    tree = {"b": [1.0, (2.0,), None], "a": OrderedDict(z=3.0, y=()), 7: {}, True: 4.0}
    exported = round_trip(lambda t: (t, [t]), {"t": tree, 1: 0.0})
    assert structure(exported.call({"t": tree, 1: 0.0})) == structure(({"t": tree, 1: 0.0}, [{"t": tree, 1: 0.0}]))


def test_a_deep_structure_needs_no_recursion():
    tree = 1.0
    for _ in range(5000):
        tree = [tree]
    items = trees.tree_to_items(structure(tree), "the arguments")
    assert trees.tree_from_items(items) == structure(tree)


def test_a_registered_class_travels_with_its_data(registered):
    registered(Point, serialized_name="Point", serialize_auxdata=lambda _: b"", deserialize_auxdata=lambda _: None)
    got = round_trip(lambda p: Point(p.y, p.x), Point(1.0, 2.0)).call(Point(1.0, 2.0))
    assert (type(got), float(got.x)) == (Point, 2.0)


def test_classes_without_a_serialization_are_refused_by_name():
    with pytest.raises(
        ExportError, match=r"export of .*: the arguments at .* have a node of class Point, which has no name"
    ):
        export(jit(lambda p: p.x))(Point(1.0, 2.0)).serialize()
    with pytest.raises(
        ExportError, match=r"the results .* have a node of class defaultdict.*Register it with register_pytree"
    ):
        export(jit(lambda x: defaultdict(list, a=x)))(1.0).serialize()
    with pytest.raises(ExportError, match=r"have the key \(1, 2\) of type tuple in a dict"):
        export(jit(lambda d: d[1, 2]))({(1, 2): 1.0}).serialize()


def test_registrations_are_checked(registered):
    functions = {"serialize_auxdata": lambda _: b"", "deserialize_auxdata": lambda _: None}
    with pytest.raises(TypeError, match="which is no class of pytree nodes"):
        registered(set, serialized_name="set", **functions)
    with pytest.raises(ValueError, match="got list, which has a serialization already"):
        registered(list, serialized_name="list", **functions)
    registered(Point, serialized_name="P", **functions)
    other = type("Other", (Point,), {})
    with pytest.raises(ValueError, match="got the name 'P', which stands for Point"):
        registered(other, serialized_name="P", **functions)
    data = export(jit(lambda p: p.x))(Point(1.0, 2.0)).serialize()
    trees._by_class.clear()
    trees._by_name.clear()
    with pytest.raises(ExportError, match="has a node 'P', which is not registered here"):
        deserialize(data)

    def fail(_):
        raise KeyError("no such data")

    registered(Point, serialized_name="P", serialize_auxdata=lambda _: "text", deserialize_auxdata=fail)
    with pytest.raises(ExportError, match="deserialize_auxdata of the node 'P' failed with KeyError"):
        deserialize(data)
    with pytest.raises(ExportError, match="serialize_auxdata of Point returned 'text'"):
        export(jit(lambda p: p.x))(Point(1.0, 2.0)).serialize()


# Refusals


def test_other_arguments_are_named(exported_layer):
    with pytest.raises(
        TypeError,
        match=r"the exported layer at .*: params\['w'\] is float32\[3\] instead of float64\[3\]; scale is ~float64\[\] "
        r"instead of float32\[\]\. Convert the arguments, or export the function for these types",
    ):
        exported_layer.call({"w": X.astype(np.float32)}, 3.0, scale=2.0)
    with pytest.raises(TypeError, match=r"params\['w'\] is missing; params\['v'\] is not in the program"):
        exported_layer.call({"v": X}, 3.0, scale=np.float32(1.0))
    with pytest.raises(TypeError, match=r"params\['w'\] is float64\[4\] instead"):
        jit(exported_layer.call)({"w": np.ones(4)}, 3.0, scale=np.float32(1.0))
    with config.enable_x64(False), pytest.raises(TypeError, match=r"x is ~float32\[\] instead of ~float64\[\]"):
        deserialize(exported_layer.serialize()).call({"w": X}, 3.0, scale=np.float32(1.0))


def test_wrong_uses_of_export_are_refused(exported_layer):
    with pytest.raises(ExportError, match=r"got layer .*, which is not jitted\. Pass jit\(function\)"):
        export(layer)
    with pytest.raises(ExportError, match=r"platforms=\('cpu', 'cuda'\)\. Give a tuple of one platform"):
        export(jit(layer), platforms=("cpu", "cuda"))
    with pytest.raises(ExportError, match=r"vjp_order=-1\. Give an int from 0 to 8"):
        exported_layer.serialize(-1)
    with pytest.raises(ExportError, match=r"the exported layer at .* has no derivative\. Serialize it with a higher"):
        exported_layer.serialize(1)
    with pytest.raises(TypeError, match=r"deserialize at .* got a value of type str\. Give bytes"):
        deserialize("text")


def test_a_program_for_another_platform_does_not_run_here():
    f = jit(lambda x: lax.platform_dependent(x, cuda=lax.sin, default=lax.cos))
    exported = deserialize(export(f, platforms=("cuda",))(1.0).serialize())
    assert exported.platforms == ("cuda",)
    assert "stablehlo.sine" in exported.mlir_module()
    with pytest.raises(
        ValueError, match=r"was exported for 'cuda', and this program is for 'cpu'\. Export it with platforms="
    ):
        exported.call(1.0)


def test_callbacks_are_refused():
    def printed(x):
        debug.print("{}", x)
        return x

    for f in (printed, lambda x: pure_callback(np.sin, ShapeDtypeStruct((), np.float64), x)):
        with pytest.raises(
            ExportError, match=r"export of .*: the function calls Python, by a callback, a check or debug\.print, and"
        ):
            export(jit(f))(1.0)


def test_calls_into_this_process_are_refused():
    foreign_p = Primitive("foreign")
    foreign_p.def_abstract_eval(lambda x: x)

    @register_lowering(foreign_p)
    def foreign_lowering(ctx, x):
        return [hlo.custom_call([x.type], [x], "my_function")]

    with pytest.raises(ExportError, match="calls the function 'my_function' of this process, a callback or a foreign"):
        export(jit(lambda x: foreign_p.bind(x)))(1.0)


# Damage


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Return a file with an exported function, a constant and a structure in it."""
    path = tmp_path_factory.mktemp("exported") / "program.bin"
    f = jit(lambda t, x: (OrderedDict(y=t["a"] + LARGE, z=[lax.asin(x)]), (x, None)))
    path.write_bytes(export(f)({"a": LARGE, 3: ()}, 0.5).serialize())
    return path


@pytest.mark.sampled(keep=0.1, rows=["kind"])
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["any", "header", "body"])
def test_damaged_bytes_raise_one_error_in_a_child_process(path, kind, seed):
    command = [sys.executable, str(FOLDER / "damage.py"), str(path), kind, str(seed), "400"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr[-2000:]
    refused, read = map(int, run.stdout.split())
    assert refused + read == 400
    assert read == 0 if kind != "header" else read < 40  # a changed name is no damage


def test_the_kinds_of_damage_have_their_words(path):
    data = path.read_bytes()
    body = unseal(data)
    for damaged, words in (
        (b"", "0 bytes are too few"),
        (b"x" + data[1:], "do not begin with its magic bytes"),
        (data[:8] + b"\2" + data[9:], "has format 2; this release reads 1"),
        (data[:-1], r"\d+ bytes follow its digest instead of \d+"),
        (data[:-1] + b"x", "its digest differs"),
        (seal(body[:-1]), "the length of a part does not fit"),
        (seal(body[:-1] + b"x"), "the digest of a part differs"),
        (seal(body + b"x"), "bytes follow its last part"),
        (seal(b"\1" + bytes(7) + b"{"), "its header is no JSON"),
        (seal(b"\2" + bytes(7) + b"[]"), "its header has a wrong form"),
        (seal(b"\2" + bytes(7) + b"{}"), "the field 'calling_convention' of its header is no int"),
        (seal(body.replace(b"float64", b"float65", 1)), "an item of '.*_types' is no type"),
        (seal(body.replace(b'["dict",', b'["dist",', 1)), "a node of a structure has a wrong form"),
        (seal(body.replace(b'["dict",["a",3]', b'["dict",[3,  3]', 1)), "a structure has wrong nodes"),
    ):
        with pytest.raises(ExportError, match=words):
            deserialize(damaged)


def test_a_module_of_other_types_is_damage(exported_layer):
    data = bytes(exported_layer.serialize())
    body = unseal(data)
    changed = body.replace(b'"in_types":[["float64",[3]', b'"in_types":[["float64",[4]', 1)
    assert changed != body
    with pytest.raises(ExportError, match="its module has other types than its header"):
        deserialize(seal(changed))


def test_exported_is_public():
    assert isinstance(round_trip(lambda x: x, 1.0), Exported)


def test_copies_share_an_exported_function_and_pickle_names_serialize(exported_layer):
    assert copy.deepcopy(exported_layer) is exported_layer
    message = r"^an exported function cannot be pickled: .* Store exported\.serialize\(\); deserialize reads it\.$"
    with pytest.raises(TypeError, match=message):
        pickle.dumps(exported_layer)
