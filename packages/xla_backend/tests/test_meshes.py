"""Meshes in modules: names of axes, numbers of devices, symbols, attributes of arrays.  A device is a string here."""

import numpy as np
import pytest
from jaxlib.mlir import ir

from calque_core import AbstractMesh, Mesh
from calque_core import PartitionSpec as P
from calque_xla_backend.modules.lowering import ModuleContext
from calque_xla_backend.modules.meshes import device_numbers, mesh_axes, mesh_symbol, sharding_attribute
from calque_xla_backend.modules.recording import Recorded, Templates
from calque_xla_backend.runtime.runtime import mlir_context

DEVICES = np.array(["a", "b", "c", "d", "e", "f"]).reshape(3, 2)


@pytest.fixture
def module_context():
    mlir = mlir_context()
    with mlir, ir.Location.unknown(mlir):
        module = ir.Module.create()
        yield ModuleContext(module, "cpu", ir.SymbolTable(module.operation), mlir.types, Templates(Recorded()))
        assert module.operation.verify()


def test_plain_names_of_axes_stay_and_any_other_name_is_numbered():
    assert mesh_axes(AbstractMesh((1, 2), ("data", "_x2"))) == {"data": "data", "_x2": "_x2"}
    mesh = AbstractMesh((1, 2, 3, 4), ('"q"', "data", 7, None.__class__))
    assert list(mesh_axes(mesh).values()) == ["axis0", "data", "axis2", "axis3"]


def test_a_user_name_that_looks_like_a_number_clashes_with_none():
    assert list(mesh_axes(AbstractMesh((1, 2, 3), ("axis1", 5, "x"))).values()) == ["axis0", "axis1", "axis2"]


def test_the_first_mesh_numbers_the_devices(module_context):
    first, second = Mesh(DEVICES, ("x", "y")), Mesh(DEVICES[::-1].T, ("y", "x"))
    np.testing.assert_array_equal(device_numbers(module_context, first), [[0, 1], [2, 3], [4, 5]])
    np.testing.assert_array_equal(device_numbers(module_context, second), [[4, 2, 0], [5, 3, 1]])
    np.testing.assert_array_equal(device_numbers(module_context, AbstractMesh((6,), "z")), np.arange(6))


def test_the_devices_of_the_program_come_before_those_of_meshes(module_context):
    module_context.devices = tuple(DEVICES.flat[::-1])
    np.testing.assert_array_equal(device_numbers(module_context, Mesh(DEVICES, ("x", "y"))), [[5, 4], [3, 2], [1, 0]])


def test_a_mesh_on_other_devices_is_refused_with_both_lists(module_context):
    device_numbers(module_context, Mesh(DEVICES[:1], ("x", "y")))
    with pytest.raises(
        ValueError,
        match=r"^a program at .*test_meshes\.py:\d+.* has the mesh Mesh\('x': 1\) on c, but it runs on a, b\. "
        r"Use meshes of the same devices in one program\.$",
    ):
        device_numbers(module_context, Mesh(["c"], "x"))


def test_equal_meshes_are_one_symbol_and_each_order_of_devices_its_own(module_context):
    mesh, turned = Mesh(DEVICES, ("x", "y")), Mesh(DEVICES[::-1], ("x", "y"))
    symbols = [mesh_symbol(module_context, m) for m in (mesh, AbstractMesh((3, 2), ("x", "y")), turned, mesh)]
    assert symbols == ["mesh", "mesh", "mesh_0", "mesh"]
    text = str(module_context.module)
    assert 'sdy.mesh @mesh = <["x"=3, "y"=2]>' in text
    assert 'sdy.mesh @mesh_0 = <["x"=3, "y"=2], device_ids=[4, 5, 2, 3, 0, 1]>' in text


def test_an_attribute_divides_axes_as_the_spec_says(module_context):
    mesh = AbstractMesh((3, 2, 2), ("x", "y", "a b"))
    cases = {
        (P(), 0): "[]",
        (P("x"), 2): '[{"x"}, {}]',
        (P(None, ("y", "x")), 3): '[{}, {"y", "x"}, {}]',
        (P(P.UNCONSTRAINED, "a b"), 2): '[{?}, {"axis2"}]',
    }
    for (spec, ndim), text in cases.items():
        assert str(sharding_attribute(module_context, mesh, spec, ndim)) == f"#sdy.sharding<@mesh, {text}>"
    opened = sharding_attribute(module_context, mesh, P("x"), 2, is_open=True)
    assert str(opened) == '#sdy.sharding<@mesh, [{"x", ?}, {?}]>'
