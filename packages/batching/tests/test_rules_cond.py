import numpy as np
import pytest

from calque_batching import vmap
from calque_core import Primitive, ShapedArray, lax, make_jaxpr
from calque_core.lax import cond, cond_p

TOGETHER = ("select", "skip")  # for all elements at once
POLICIES = (*TOGETHER, "map")
XS = np.array([-1.0, 0.0, 4.0])


def switch(index, branches, *operands, batched="select"):
    """Return the results of one of several branches, which `cond` itself has two of."""
    jaxprs = tuple(make_jaxpr(branch)(*operands) for branch in branches)
    return cond_p.bind(index, *operands, branches=jaxprs, batched=batched)


# An unmapped predicate


@pytest.mark.parametrize("pred", [True, False])
def test_a_known_predicate_chooses_one_branch_for_all_elements(pred, check_batching):
    def choose(x, y):
        return cond(pred, lambda x, y: (lax.add(x, y), x), lambda x, y: (lax.sub(x, y), y), x, y)

    check_batching(choose, [(2,), (2,)], ["float64", "float64"])


@pytest.mark.parametrize("batched", [*POLICIES, "error"])
def test_an_unmapped_predicate_stays_a_cond_whatever_the_policy(batched):
    def choose(pred, x):
        return cond(pred, lambda: lax.sin(x), lambda: lax.cos(x), batched=batched)

    jaxpr = make_jaxpr(vmap(choose, in_axes=(None, 0)))(True, XS)

    eqn = jaxpr.eqns[-1]
    assert eqn.primitive is cond_p
    assert eqn.params["batched"] == batched
    assert [branch.out_avals[0].shape for branch in eqn.params["branches"]] == [(3,), (3,)]


def test_a_result_is_mapped_if_some_branch_maps_it_and_only_then():
    def choose(pred, x, y):
        return cond(pred, lambda: (x, y, y), lambda: (y, y, 0.0))

    for pred in (True, False):
        mapped, *same = vmap(choose, in_axes=(None, 0, None), out_axes=(0, None, None))(pred, XS, 7.0)
        assert mapped.tolist() == (XS.tolist() if pred else [7.0] * 3)
        assert same == ([7.0, 7.0] if pred else [7.0, 0.0])


def test_branches_whose_batch_axes_differ_agree_on_one():
    x = np.arange(6.0).reshape(2, 3)

    def choose(pred, row):
        return cond(pred, lambda: row, lambda: lax.mul(np.ones(2), lax.reduce_sum(row)))

    np.testing.assert_array_equal(vmap(choose, in_axes=(None, 1))(True, x), x.T)
    np.testing.assert_array_equal(vmap(choose, in_axes=(None, 1))(False, x), np.stack([x.sum(0)] * 2, 1))


def test_branches_that_close_over_tracers_see_the_elements():
    out = vmap(lambda x: cond(True, lambda: lax.add(x, 1.0), lambda: 0.0), (0,))(np.array([1.0, 2.0, 3.0]))

    assert out.tolist() == [2.0, 3.0, 4.0]


# A mapped predicate


@pytest.mark.parametrize("batched", POLICIES)
def test_a_mapped_predicate_chooses_by_element(batched, check_batching):
    def choose(p, x, y):
        return cond(p, lambda x, y: (lax.add(x, y), 1), lambda x, y: (lax.mul(x, y), 0), x, y, batched=batched)

    check_batching(choose, [(), (2,), (2,)], ["bool", "float64", "float64"])
    check_batching(choose, [(), (), ()], ["bool", "int8", "int8"])
    check_batching(choose, [(), (2, 4), (2, 4)], ["bool", "complex64", "complex64"])


@pytest.mark.parametrize("batched", POLICIES)
def test_branches_that_ignore_their_operands_are_chosen_between(batched):
    choose = vmap(lambda p: cond(p, lambda: (1.0, np.ones(2)), lambda: (2.0, np.zeros(2)), batched=batched))

    scalars, rows = choose(np.array([True, False, True]))

    assert scalars.tolist() == [1.0, 2.0, 1.0]
    assert rows.tolist() == [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]


@pytest.mark.parametrize("batched", POLICIES)
def test_several_branches_are_chosen_between_and_an_index_out_of_range_takes_the_nearest(batched):
    branches = [lax.neg, lambda x: lax.mul(x, 10.0), lax.square]
    index = np.array([-5, 0, 1, 2, 9], np.int32)

    [out] = vmap(lambda i: switch(i, branches, 3.0, batched=batched))(index)

    assert out.tolist() == [-3.0, -3.0, 30.0, 9.0, 9.0]


def test_a_single_branch_is_taken_by_every_element():
    [out] = vmap(lambda i, x: switch(i, [lax.neg], x))(np.array([0, 1, -1], np.int32), XS)

    assert out.tolist() == [1.0, 0.0, -4.0]


@pytest.mark.parametrize("batched", POLICIES)
def test_results_of_a_branch_for_other_elements_are_discarded_without_a_warning(batched):
    def safe_log(x):
        return cond(lax.gt(x, 0.0), lax.log, lambda x: 0.0, x, batched=batched)

    assert vmap(safe_log)(XS).tolist() == [0.0, 0.0, np.log(4.0)]


def test_select_leaves_no_cond_behind():
    jaxpr = make_jaxpr(vmap(lambda x: cond(lax.gt(x, 0.0), lax.sin, lax.cos, x)))(XS)

    names = [eqn.primitive.name for eqn in jaxpr.eqns]
    assert "cond" not in names
    assert [name for name in names if name in ("sin", "cos")] == ["cos", "sin"]


def test_a_staged_select_guards_its_operands():
    jaxpr = make_jaxpr(vmap(lambda x: cond(lax.gt(x, 0.0), lax.sin, lambda x: 0.0, x)))(XS)

    names = [eqn.primitive.name for eqn in jaxpr.eqns]
    assert names.count("discard") == 1  # the branch that does not use its operand needs no guard


def test_an_evaluated_select_leaves_an_unmapped_operand_unmapped():
    shapes = []
    seen_p = Primitive("seen")
    seen_p.def_impl(lambda x: shapes.append(np.shape(x)) or x)
    seen_p.def_abstract_eval(lambda x_aval: x_aval)
    seen_p.def_rule("batch", lambda args, dims: (seen_p.bind(*args), dims[0]))

    vmap(lambda p, w: cond(p, lambda: seen_p.bind(w), lambda: w), in_axes=(0, None))(
        np.array([True, False]), np.ones(4)
    )

    assert shapes == [(4,)]


def test_skip_runs_a_branch_only_if_some_element_takes_it():
    runs = []
    noted_p = Primitive("noted")
    noted_p.def_impl(lambda x: runs.append(np.shape(x)) or np.negative(x))
    noted_p.def_abstract_eval(lambda x_aval: x_aval)
    noted_p.def_rule("batch", lambda args, dims: (noted_p.bind(*args), dims[0]))

    choose = vmap(lambda p, x: cond(p, noted_p.bind, lambda x: x, x, batched="skip"))

    assert choose(np.array([False, False]), np.ones(2)).tolist() == [1.0, 1.0]
    assert runs == []
    assert choose(np.array([False, True]), np.ones(2)).tolist() == [1.0, -1.0]
    assert runs == [(2,)]


def test_map_runs_the_branch_of_each_element_alone_and_in_order():
    runs = []
    noted_p = Primitive("noted", effects=frozenset(["print"]))
    noted_p.def_impl(lambda x: runs.append(float(x)) or np.negative(x))
    noted_p.def_abstract_eval(lambda x_aval: x_aval)

    choose = vmap(lambda p, x: cond(p, noted_p.bind, lambda x: x, x, batched="map"))

    assert choose(np.array([True, False, True]), np.arange(3.0)).tolist() == [0.0, 1.0, -2.0]
    assert runs == [0.0, 2.0]


@pytest.mark.parametrize("batched", POLICIES)
def test_nested_vmaps_of_cond_agree_with_loops(batched):
    def choose(p, x):
        return cond(p, lambda: lax.mul(x, 2.0), lambda: lax.neg(x), batched=batched)

    p, x = np.array([True, False, False]), np.arange(3.0)
    expected = np.where(p[:, None], 2 * x, -x)

    np.testing.assert_array_equal(vmap(vmap(choose, (None, 0)), (0, None))(p, x), expected)
    np.testing.assert_array_equal(vmap(vmap(choose, (0, None)), (None, 0))(p, x), expected.T)
    np.testing.assert_array_equal(vmap(vmap(choose))(np.stack([p, p]), np.stack([x, x])), [np.diag(expected)] * 2)


@pytest.mark.parametrize("batched", POLICIES)
def test_a_cond_inside_a_branch_is_batched_too(batched):
    def choose(p, q, x):
        return cond(p, lambda: cond(q, lambda: x, lambda: 1.0, batched=batched), lambda: -1.0, batched=batched)

    p, q = np.array([True, True, False, False]), np.array([True, False, True, False])

    assert vmap(choose)(p, q, np.full(4, 5.0)).tolist() == [5.0, 1.0, -1.0, -1.0]


def test_error_refuses_a_mapped_predicate_with_the_users_line():
    def choose(x):
        return cond(lax.gt(x, 0.0), lax.sin, lax.cos, x, batched="error")

    expected = (
        r"cond at test_rules_cond.py:\d+ .* got a predicate that differs from element to element under vmap, "
        r"and batched='error' refuses it. Use batched='select' to run both branches"
    )
    with pytest.raises(TypeError, match=expected):
        vmap(choose)(XS)


@pytest.mark.parametrize("batched", TOGETHER)
def test_an_effect_in_a_branch_is_refused_under_a_mapped_predicate(batched):
    print_p = Primitive("print", effects=frozenset(["print"]))
    print_p.def_impl(lambda x: x)
    print_p.def_abstract_eval(lambda x_aval: x_aval)
    print_p.def_rule("batch", lambda args, dims: (print_p.bind(*args), dims[0]))

    def choose(p, x):
        return cond(p, print_p.bind, lambda x: x, x, batched=batched)

    with pytest.raises(
        TypeError,
        match=(
            r"cond at .* a branch has the effect print\. Elements that .* Move the effect out of the "
            r"branch"
        ),
    ):
        vmap(choose)(np.array([True, False]), np.ones(2))
    assert vmap(choose, in_axes=(None, 0))(True, np.ones(2)).tolist() == [1.0, 1.0]


# Named axes in branches


@pytest.mark.parametrize("pred", [True, False])
def test_a_branch_that_names_the_axis_is_batched_without_mapped_operands(pred):
    def choose(x):
        return lax.add(x, cond(pred, lambda: lax.axis_index("i"), lambda: np.int32(0)))

    assert vmap(choose, axis_name="i")(np.zeros(3, np.int32)).tolist() == ([0, 1, 2] if pred else [0, 0, 0])


@pytest.mark.parametrize("batched", TOGETHER)
def test_every_element_takes_part_in_a_sum_inside_a_branch(batched):
    def choose(x):
        return cond(lax.gt(x, 0.0), lambda: lax.psum(x, "i"), lambda: x, batched=batched)

    assert vmap(choose, axis_name="i")(XS).tolist() == [-1.0, 0.0, 3.0]


def test_map_refuses_a_branch_that_names_the_axis():
    choose = lambda x: cond(lax.gt(x, 0.0), lambda: lax.psum(x, "i"), lambda: x, batched="map")
    message = (
        r"cond at test_rules_cond.py:\d+ .* got batched='map' .*, but a branch names the axis 'i' of the vmap\. An "
        r"element that runs alone does not see the others; use batched='select'\."
    )
    with pytest.raises(ValueError, match=message):
        vmap(choose, axis_name="i")(XS)


@pytest.mark.parametrize("batched", POLICIES)
def test_a_choice_for_no_elements_gives_empty_results(batched):
    out = vmap(lambda p: cond(p, lambda: 1.0, lambda: 2.0, batched=batched))(np.zeros(0, bool))

    assert (out.shape, out.dtype) == ((0,), np.float64)


def test_the_types_of_a_staged_cond_are_those_of_the_evaluated_one():
    def choose(p, x):
        return cond(p, lambda: lax.sin(x), lambda: 0.0)

    jaxpr = make_jaxpr(vmap(choose))(np.array([True]), np.ones((1, 2), np.float32)[:, 0])

    assert jaxpr.out_avals == [ShapedArray((1,), np.float32)]


# Results that no branch computes


@pytest.mark.parametrize("batched", POLICIES)
def test_a_result_that_every_branch_passes_through_stays_unmapped(batched):
    def choose(pred, x, y):
        return cond(pred, lambda x, y: (lax.add(x, y), y), lambda x, y: (x, y), x, y, batched=batched)

    chosen, passed = vmap(choose, in_axes=(0, 0, None), out_axes=(0, None))(XS > 0.0, XS, 2.0)
    assert chosen.tolist() == [-1.0, 0.0, 6.0]
    assert passed == 2.0

    jaxpr = make_jaxpr(vmap(choose, in_axes=(0, 0, None), out_axes=(0, None)))(XS > 0.0, XS, 2.0)
    assert [aval.shape for aval in jaxpr.out_avals] == [(3,), ()]


def test_a_mapped_result_that_every_branch_passes_through_is_mapped_where_it_was(check_batching):
    check_batching(
        lambda pred, x: cond(lax.gt(pred, 0.0), lambda x: (x, lax.neg(x)), lambda x: (x, x), x),
        [(), (2,)],
        ["float64", "float64"],
    )


def test_different_operands_that_branches_pass_through_are_chosen_by_element():
    choose = vmap(lambda pred, x, y: cond(pred, lambda x, y: x, lambda x, y: y, x, y), in_axes=(0, None, None))
    assert choose(XS > 0.0, 1.0, 2.0).tolist() == [2.0, 2.0, 1.0]
    with pytest.raises(ValueError, match="out_axes is None for the output, but it differs from element to element"):
        vmap(lambda pred, x: cond(pred, lambda x: x, lambda x: lax.neg(x), x), in_axes=(0, None), out_axes=None)(
            XS > 0.0, 1.0
        )


def test_a_python_scalar_that_every_branch_passes_through_takes_the_dtype_that_it_meets():
    def scaled(x):
        return cond(x > 0, lambda s: s, lambda s: s, 2.0) * x

    xs = XS.astype(np.float32)
    assert vmap(scaled)(xs).dtype == np.float32
    assert make_jaxpr(vmap(scaled))(xs).out_avals[0].dtype == np.float32
