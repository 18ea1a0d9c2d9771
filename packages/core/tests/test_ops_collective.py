import numpy as np
import pytest

from calque_core import AbstractMesh, ShapedArray, fold_constants, lax, make_jaxpr, shard_map
from calque_core import PartitionSpec as P
from calque_core.context import entered
from calque_core.jaxprs.named_axes import named_axes
from calque_core.ops.calls.cond import cond
from calque_core.staging.stage import stage

SUMMING = [lax.psum, lax.pmean, lax.pmax, lax.pmin]
F32 = ShapedArray((2,), np.float32)


def traced(fun, *avals, **axes):
    """Return the jaxpr of `fun` where the named axes have the given sizes."""
    with entered(axis_env=tuple(axes.items())):
        return make_jaxpr(fun)(*avals)


@pytest.mark.parametrize("collective", SUMMING)
def test_an_unbound_name_is_refused_with_the_users_line_and_the_names_that_are_bound(collective):
    with entered(axis_env=(("rows", 2), ("columns", 3))), pytest.raises(NameError) as caught:
        collective(1.0, "i")

    message = str(caught.value)
    assert message.startswith(f"unbound axis name: i. {collective.__name__} at test_ops_collective.py:")
    assert "the bound names are: 'rows', 'columns'. Call it in a function under vmap(..., axis_name='i')" in message


@pytest.mark.parametrize("function", [lax.axis_index, lax.axis_size])
def test_the_place_along_an_unbound_axis_is_refused(function):
    with pytest.raises(NameError, match=f"unbound axis name: i. {function.__name__} at .* the bound names are: none"):
        function("i")


def test_tracing_refuses_an_unbound_name_too():
    with pytest.raises(NameError, match=r"unbound axis name: i"):
        make_jaxpr(lambda x: lax.psum(x, "i"))(1.0)


def test_evaluation_has_no_axes_even_where_the_name_is_bound():
    with entered(axis_env=(("i", 2),)), pytest.raises(NameError, match=r"unbound axis name: i. psum at"):
        lax.psum(1.0, "i")


@pytest.mark.parametrize(
    ("collective", "dtype", "out_dtype"),
    [
        (lax.psum, "float32", "float32"),
        (lax.psum, "int8", "int8"),
        (lax.psum, "bool", "int64"),
        (lax.pmean, "float16", "float16"),
        (lax.pmean, "complex64", "complex64"),
        (lax.pmean, "int64", "float64"),
        (lax.pmean, "bool", "float64"),
        (lax.pmax, "uint8", "uint8"),
        (lax.pmin, "bool", "bool"),
    ],
)
def test_a_collective_keeps_the_shape_and_says_the_dtype(collective, dtype, out_dtype):
    jaxpr = traced(lambda x: collective(x, "i"), ShapedArray((2, 3), dtype), i=4)

    assert jaxpr.out_avals == [ShapedArray((2, 3), out_dtype)]


def test_a_collective_of_a_pytree_binds_each_leaf():
    jaxpr = traced(lambda x, y: lax.psum({"a": x, "b": (y,)}, ("i", "j")), F32, 1.0, i=2, j=3)

    assert [(eqn.primitive.name, eqn.params) for eqn in jaxpr.eqns] == [("psum", {"axes": ("i", "j")})] * 2


def test_a_sum_over_no_axes_is_the_operand():
    assert traced(lambda x: lax.psum(x, ()), F32).eqns == ()


def test_complex_numbers_have_a_greatest_and_a_least_element_by_the_real_part_first():
    mesh = AbstractMesh((4,), ("i",))
    both = lambda x: (lax.pmax(x, "i"), lax.pmin(x, "i"))
    extremes = shard_map(both, mesh=mesh, in_specs=P("i"), out_specs=P())

    greatest, least = extremes(np.array([1 + 2j, 3 - 1j, 3 + 1j, 1 - 2j]))

    assert (greatest, least) == (3 + 1j, 1 - 2j)


def test_an_axis_that_is_named_twice_is_refused():
    with pytest.raises(ValueError, match=r"psum at .*: axis_name is \('i', 'i'\), with one axis twice. Name each axis"):
        traced(lambda x: lax.psum(x, ("i", "i")), F32, i=2)


def test_a_list_is_no_name():
    with pytest.raises(TypeError, match=r"psum at .*: axis_name is \['i'\]. Give a name or a tuple of names"):
        traced(lambda x: lax.psum(x, ["i"]), F32, i=2)


def test_the_size_of_axes_is_a_python_int():
    with entered(axis_env=(("i", 2), ("j", 3), ("i", 5))):
        assert (lax.axis_size("i"), lax.axis_size(("i", "j")), lax.axis_size(())) == (5, 15, 1)
        assert type(lax.axis_size("i")) is int


def test_the_index_along_axes_is_an_int32_scalar():
    jaxpr = traced(lambda: lax.axis_index(("i", "j")), i=2, j=3)

    assert jaxpr.out_avals == [ShapedArray((), np.int32)]
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["axis_index", "axis_index", "mul", "add"]


def test_folding_constants_leaves_named_axes_alone():
    jaxpr = traced(lambda x: lax.add(x, lax.psum(np.float32(1), "i")), F32, i=2)

    assert [eqn.primitive.name for eqn in fold_constants(jaxpr).eqns] == ["psum", "add"]


def test_the_axes_that_an_equation_names_are_found_in_programs_that_it_holds():
    def program(x):
        return [cond(lax.gt(x, 0.0), lambda: lax.psum(x, "i"), lambda: lax.add(x, 1.0))]

    with entered(axis_env=(("i", 2), ("j", 3))):
        jaxpr = stage(program, [ShapedArray((), np.float64)])

    assert named_axes({"jaxpr": jaxpr}) == {"i"}
    assert named_axes({"axis_name": "j", "jaxpr": jaxpr}) == {"i", "j"}
    assert named_axes({"y": 2}) == set()
