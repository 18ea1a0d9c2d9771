import numpy as np
import pytest

from calque_core import (
    AbstractMesh,
    Mesh,
    PartitionSpec,
    check_jaxpr,
    dce_jaxpr,
    eval_jaxpr,
    lax,
    make_jaxpr,
    shard_map,
    stage,
    typeof,
)
from calque_core.context import entered, here
from calque_core.engine import nested_jaxprs
from calque_core.lax import pmap_p
from calque_core.primitives.primitive import decompose
from calque_core.traces.trace import current_trace


def without(aval, axis):
    return aval.update(shape=(*aval.shape[:axis], *aval.shape[axis + 1 :]))


def mapped(f, axis_name, size, in_axes=(0,), out_axes=(0,), **params):
    """Return a function that binds a `pmap` of `f`."""

    def bound(*args):
        avals = [typeof(x) for x in args]
        avals = [a if axis is None else without(a, axis) for a, axis in zip(avals, in_axes)]
        with entered(axis_env=(*here().axis_env, (axis_name, size))):
            jaxpr = stage(lambda *xs: [f(*xs)], avals)
        options = {"devices": None, "compiler": None, "name": "f"} | params
        outs = pmap_p.bind(
            *args, call_jaxpr=jaxpr, axis_name=axis_name, axis_size=size, in_axes=in_axes, out_axes=out_axes, **options
        )
        return outs[0]

    return bound


def test_elements_stand_along_any_axis():
    x, y = np.arange(6.0).reshape(3, 2), np.arange(2.0)
    f = mapped(lambda a, b: a - lax.pmean(a, "i") + b, "i", 2, (1, None), (1,))

    np.testing.assert_allclose(f(x, y[:1].repeat(3)), x - x.mean(1, keepdims=True))


def test_a_result_without_an_axis_is_that_of_the_first_element():
    assert mapped(lambda a: lax.psum(a, "i"), "i", 4, out_axes=(None,))(np.arange(4.0)) == 6.0


def test_a_nest_stands_on_one_mesh_the_outermost_axis_first():
    inner = mapped(lambda a: lax.psum(a, ("i", "j")) + lax.axis_index("j"), "j", 3)
    f = mapped(inner, "i", 2)
    x = np.arange(6.0).reshape(2, 3)

    np.testing.assert_array_equal(f(x), np.full((2, 3), 15.0) + np.arange(3))
    jaxpr = make_jaxpr(lambda x: decompose(current_trace(), pmap_p, [x], pmap_params(f, x), "jvp"))(x)
    check_jaxpr(jaxpr)
    meshes = {eqn.params["mesh"] for eqn in all_eqns(jaxpr) if eqn.primitive is lax.shard_map_p}
    assert meshes == {AbstractMesh((2, 3), ("i", "j"))}
    assert not any(eqn.primitive is pmap_p for eqn in all_eqns(jaxpr))


def pmap_params(f, x):
    return make_jaxpr(f)(x).eqns[0].params


def all_eqns(jaxpr):
    return [eqn for inner in nested_jaxprs(jaxpr) for eqn in inner.eqns]


def test_unnamed_axes_of_a_nest_stay_apart():
    f = mapped(mapped(lambda a: a * 2.0, None, 3), None, 2)
    x = np.arange(6.0).reshape(2, 3)

    np.testing.assert_array_equal(f(x), x * 2)


def test_axes_of_one_name_in_a_nest_are_refused():
    f = mapped(mapped(lambda a: lax.psum(a, "i"), "i", 3), "i", 2)
    with pytest.raises(ValueError, match=r"pmap of f at .*: two axes have the name 'i' in a nest of pmaps"):
        f(np.zeros((2, 3)))


def test_devices_form_the_mesh_and_their_number_must_fit():
    f = mapped(lambda a: a, "i", 2, devices=("a", "b"))
    x = np.zeros(2)
    jaxpr = make_jaxpr(lambda x: decompose(current_trace(), pmap_p, [x], pmap_params(f, x), "jvp"))(x)
    assert jaxpr.eqns[0].params["mesh"] == Mesh(np.array(["a", "b"]), "i")
    with pytest.raises(ValueError, match=r"got 3 devices for 2 elements \('i': 2\)\. Give one device for each element"):
        mapped(lambda a: a, "i", 2, devices=("a", "b", "c"))(x)


def test_another_size_is_refused():
    with pytest.raises(TypeError, match=r"pmap of f: axis 0 of float64\[3\] has another size than 2"):
        make_jaxpr(mapped(lambda a: a, "i", 2))(np.zeros(3))


def test_a_compiler_gets_a_program_of_one_equation():
    programs = []

    def compiler(jaxpr, args):
        programs.append(jaxpr)
        return [np.zeros(2)]

    out = mapped(lambda a: a, "i", 2, compiler=compiler)(np.ones(2))

    assert not out.any()
    (program,) = programs
    check_jaxpr(program)
    assert [eqn.primitive for eqn in program.eqns] == [pmap_p]
    assert program.eqns[0].params["compiler"] is None


def test_equal_calls_with_a_compiler_have_one_program():
    programs = []

    def compiler(jaxpr, args):
        programs.append(jaxpr)
        return [np.zeros(2)]

    call = make_jaxpr(mapped(lambda a: a, "i", 2, compiler=compiler))(np.ones(2))
    for _ in range(2):
        eval_jaxpr(call, call.consts, np.ones(2))
    assert len({id(program) for program in programs}) == 1


def test_the_equation_means_a_jit_where_it_has_a_compiler():
    compiler = lambda jaxpr, args: [np.zeros(2)]
    f = mapped(lambda a: a, "i", 2, compiler=compiler)
    (eqn,) = make_jaxpr(lambda x: decompose(current_trace(), pmap_p, [x], pmap_params(f, x), "jvp"))(np.ones(2)).eqns
    assert (eqn.primitive, eqn.params["compiler"]) == (lax.jit_p, compiler)
    (inner,) = eqn.params["jaxpr"].eqns
    assert (inner.primitive, inner.params["compiler"]) == (pmap_p, None)


def test_the_mesh_of_a_nest_is_told_by_a_rule():
    params = pmap_params(mapped(mapped(abs, "j", 3), "i", 2), np.ones((2, 3)))
    assert pmap_p.rules["mesh"](**params) == AbstractMesh((2, 3), ("i", "j"))


def test_the_equation_hides_its_compiler_and_no_devices():
    text = str(make_jaxpr(mapped(lambda a: lax.psum(a, "rows"), "rows", 1))(np.ones((1, 3), np.float32)))

    assert "xla_pmap[\n      name=f\n      axis_name=rows\n      axis_size=1\n      call_jaxpr={" in text
    assert "compiler" not in text
    assert "devices" not in text


def test_j_10_a_map_over_rows_with_a_sum_and_a_scalar_that_is_the_same_for_all_rows():
    """J-10."""
    inner = mapped(lambda extra, x: (x + extra) / lax.psum(x, "rows"), "rows", 1, (None, 0), name="inner")
    rows, extra = np.ones((1, 3), np.float32), np.float32(5)

    assert str(make_jaxpr(lambda rows, extra: inner(extra, rows))(rows, extra)) == J_10
    np.testing.assert_array_equal(inner(extra, rows), np.full((1, 3), 6.0))


J_10 = """{ lambda ; a:f32[1,3] b:f32[]. let
    c:f32[1,3] = xla_pmap[
      name=inner
      axis_name=rows
      axis_size=1
      call_jaxpr={ lambda ; d:f32[] e:f32[3]. let
          f:f32[3] = add e d
          g:f32[3] = psum[axes=('rows',)] e
          h:f32[3] = div f g
        in (h,) }
      in_axes=(None, 0)
      out_axes=(0,)
    ] b a
  in (c,) }"""


def test_unused_operands_go_with_their_axes():
    f = mapped(lambda x, y: x + 1.0, "i", 4, (0, 1), (0,))
    jaxpr, used = dce_jaxpr(make_jaxpr(f)(np.zeros(4), np.zeros((2, 4))), [True])
    check_jaxpr(jaxpr)
    assert used == [True, False]
    assert jaxpr.eqns[0].params["in_axes"] == (0,)


def test_the_name_of_an_axis_of_a_mesh_around_it_is_refused():
    inner = mapped(lambda a: a * 2.0, "i", 4)
    outer = shard_map(inner, mesh=AbstractMesh((2,), ("i",)), in_specs=PartitionSpec("i"), out_specs=PartitionSpec("i"))
    with pytest.raises(
        ValueError, match=r"^pmap of f .*: the axis 'i' has a meaning here already, from an outer shard"
    ):
        outer(np.zeros(8))
