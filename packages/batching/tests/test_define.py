import numpy as np
import pytest

from calque_batching import defbatch, defbroadcasting, defreducer, defvectorized, primitive_batchers, vmap
from calque_core import Primitive, rules
from calque_core.engine import align_operands, axes_in_batch, with_entry


def primitive(name, impl):
    made = Primitive(name)
    made.def_impl(impl)
    return made


@pytest.fixture
def multiply_add_p():
    return primitive("multiply_add", lambda x, y, z: np.add(np.multiply(x, y), z))


def square_add(multiply_add_p):
    return lambda a, b: multiply_add_p.bind(a, a, b)


def test_a_primitive_without_a_rule_is_refused_by_name_and_told_how_to_get_one(multiply_add_p):
    with pytest.raises(NotImplementedError, match=r"^Batching rule for 'multiply_add' not implemented") as caught:
        vmap(square_add(multiply_add_p))(np.array([2.0, 3.0]), np.array([10.0, 20.0]))

    notes = "\n".join(caught.value.__notes__)
    assert "register one with calque_batching.defbatch(multiply_add_p, fn)" in str(caught.value)
    assert "'multiply_add' was bound at test_define.py:" in notes
    assert "Rules that 'multiply_add' has: impl." in notes


def test_a_rule_put_into_the_table_gets_whole_arrays_and_axes(multiply_add_p):
    seen = []

    def rule(vector_arg_values, batch_axes):
        seen.append((vector_arg_values, batch_axes))
        return multiply_add_p.bind(*vector_arg_values), batch_axes[0]

    primitive_batchers[multiply_add_p] = rule
    out = vmap(square_add(multiply_add_p))(np.array([2.0, 3.0]), np.array([10.0, 20.0]))

    assert out.tolist() == [14.0, 29.0]
    [(args, dims)] = seen
    assert [x.tolist() for x in args] == [[2.0, 3.0], [2.0, 3.0], [10.0, 20.0]]
    assert tuple(dims) == (0, 0, 0)
    assert primitive_batchers[multiply_add_p] is rule


def test_the_table_is_cores_own(multiply_add_p):
    multiply_add_p.def_rule("batch", lambda args, dims: (multiply_add_p.bind(*args), dims[0]))

    assert multiply_add_p in primitive_batchers
    assert rules("batch")[multiply_add_p] is primitive_batchers[multiply_add_p]


def test_a_second_rule_is_refused_with_both_places(multiply_add_p):
    defbroadcasting(multiply_add_p)

    with pytest.raises(ValueError, match=r"'multiply_add' has a rule for 'batch' from .*test_define.py"):
        defbatch(multiply_add_p, lambda args, dims: None)


def test_a_rule_of_several_results_gives_lists():
    both_p = Primitive("both", multiple_results=True)
    both_p.def_impl(lambda x: [np.sin(x), np.cos(x)])
    defbatch(both_p, lambda args, dims: (both_p.bind(*args), [dims[0], dims[0]]))

    sines, cosines = vmap(lambda x: both_p.bind(x), out_axes=[0, -1])(np.arange(6.0).reshape(2, 3))

    np.testing.assert_array_equal(sines, np.sin(np.arange(6.0).reshape(2, 3)))
    np.testing.assert_array_equal(cosines, np.cos(np.arange(6.0).reshape(2, 3)).T)


def test_defvectorized_serves_a_primitive_with_parameters(check_batching):
    scale_p = primitive("scale", lambda x, *, factor: np.multiply(x, factor))
    shift_p = primitive("shift", lambda x, *, step: np.add(x, step))
    scale_p.def_abstract_eval(lambda x_aval, *, factor: x_aval)
    shift_p.def_abstract_eval(lambda x_aval, *, step: x_aval)
    defvectorized(scale_p, shift_p)

    check_batching(lambda x: shift_p.bind(scale_p.bind(x, factor=3.0), step=1.0), [(2, 4)], ["float64"])


def test_defbroadcasting_serves_three_operands(multiply_add_p, check_batching):
    multiply_add_p.def_abstract_eval(lambda *avals: max(avals, key=lambda aval: aval.ndim))
    defbroadcasting(multiply_add_p)

    for shapes in ([(2,)] * 3, [(), (2, 4), ()], [()] * 3):
        check_batching(multiply_add_p.bind, shapes, ["float64"] * 3)


def test_defreducer_serves_a_primitive_with_axes(check_batching):
    largest_p = primitive("largest", lambda x, *, axes: np.max(x, axes))
    largest_p.def_abstract_eval(
        lambda x_aval, *, axes: x_aval.update(shape=tuple(n for i, n in enumerate(x_aval.shape) if i not in axes))
    )
    defreducer(largest_p)

    check_batching(lambda x: largest_p.bind(x, axes=(0, 2)), [(2, 3, 4)], ["float64"])


def test_aligned_leaves_operands_that_fit_alone():
    x, y = np.ones((3, 2)), np.zeros((3, 2))

    operands, dim = align_operands([x, 2.0, y], [1, None, 1])

    assert dim == 1
    assert operands[0] is x
    assert operands[1] == 2.0
    assert operands[2] is y


def test_aligned_gives_mapped_scalars_and_unmapped_arrays_the_axes_that_they_lack():
    operands, dim = align_operands([np.arange(3.0), np.arange(8.0).reshape(2, 4)], [0, None])

    assert dim == 0
    assert [x.shape for x in operands] == [(3, 2, 4), (3, 2, 4)]
    assert operands[0][:, 1, 2].tolist() == [0.0, 1.0, 2.0]
    assert operands[1][2].tolist() == [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]


def test_axes_move_past_the_batch_axis_and_entries_are_put_in_for_it():
    assert [axes_in_batch((0, 1), bdim) for bdim in range(3)] == [(1, 2), (0, 2), (0, 1)]
    assert [with_entry("ab", bdim, "*") for bdim in range(3)] == [("*", "a", "b"), ("a", "*", "b"), ("a", "b", "*")]
