import numpy as np
import pytest

from calque_core import ShapeDtypeStruct, ffi_call, make_jaxpr
from calque_core.lax import ffi_call_p

X = np.ones((2, 3))
KERNEL = ShapeDtypeStruct((2, 3), np.float64)


def test_a_call_is_one_equation_of_the_declared_types():
    results = {"y": KERNEL, "root": ShapeDtypeStruct((2,), np.float32)}
    jaxpr, shapes = make_jaxpr(lambda x: ffi_call("norm", results)(x, 2.0, eps=0.5), return_shape=True)(X)
    (eqn,) = jaxpr.eqns
    assert eqn.primitive is ffi_call_p
    assert shapes == results
    assert [str(aval) for aval in jaxpr.out_avals] == ["float32[2]", "float64[2,3]"]  # a dict's leaves: sorted by key


def test_attributes_are_parameters_that_have_a_hash():
    jaxpr = make_jaxpr(lambda x: ffi_call("norm", KERNEL)(x, sizes=np.array([1, 2], np.int32), axis=1))(X)
    attributes = jaxpr.eqns[0].params["attributes"]
    assert attributes == (("axis", 1), ("sizes", (np.dtype(np.int32), (1, 2))))
    assert isinstance(hash(attributes), int)


@pytest.mark.parametrize("attribute", [[1], None, {"a": 1}, np.ones((2, 2)), np.complex64(1), object()])
def test_another_attribute_is_refused(attribute):
    with pytest.raises(
        TypeError, match=r"ffi_call of 'norm' at test_ops_ffi\.py.* as the attribute 'eps'\. Use a bool"
    ):
        ffi_call("norm", KERNEL)(X, eps=attribute)


def test_core_alone_has_no_kernels_and_says_so():
    rules = {kind: rule for kind, rule in ffi_call_p.rules.items() if kind != "impl"}
    if len(rules) < len(ffi_call_p.rules):
        pytest.skip("a backend is imported")
    with pytest.raises(NotImplementedError, match=r"Evaluation rule for 'ffi_call' not implemented") as caught:
        ffi_call("norm", KERNEL)(X)
    assert "Import calque_xla_backend" in str(caught.value)


def test_wrong_options_are_refused():
    with pytest.raises(
        ValueError, match=r"got vmap_method='loop'\. Use one of 'sequential', 'sequential_unrolled', 'expand_dims'"
    ):
        ffi_call("norm", KERNEL, vmap_method="loop")
    with pytest.raises(TypeError, match=r"ffi_call at .* got ~int64.* as target_name\. Give the target's name"):
        ffi_call(3, KERNEL)
    with pytest.raises(TypeError, match=r"ffi_call of 'norm'.* as result_shape_dtypes"):
        ffi_call("norm", "float64")
    with pytest.raises(TypeError, match=r"operand 1 is 'x'"):
        ffi_call("norm", KERNEL)(X, "x")


def test_a_call_with_an_effect_says_so():
    jaxpr = make_jaxpr(lambda x: ffi_call("log", (), has_side_effect=True)(x))(X)
    assert [str(effect) for effect in jaxpr.effects] == ["io"]
