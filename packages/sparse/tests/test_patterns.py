import numpy as np
import pytest

from calque_core import Primitive, ShapeDtypeStruct, config, lax, make_jaxpr
from calque_core.extend import means, run_program
from calque_sparse import SparsityPattern, hessian_sparsity, jacobian_sparsity, no_pairs

X = np.linspace(0.3, 1.7, 6)


def pattern(f, *args, **options):
    return jacobian_sparsity(f, *args, **options).toarray().astype(int).tolist()


def differences(f, x, step=1e-6):
    """Return the Jacobian by central differences."""
    columns = [(np.ravel(f(x + step * e)) - np.ravel(f(x - step * e))) / (2 * step) for e in np.eye(x.size)]
    return np.stack(columns, 1)


FUNCTIONS = {
    "stencil": lambda x: x[2:] - 2.0 * x[1:-1] + x[:-2],
    "products": lambda x: x[1:] * lax.sin(x[:-1]),
    "a sum": lambda x: lax.reduce_sum(x * x, (0,)),
    "a running product": lambda x: lax.cumprod(x, 0),
    "running sums backwards": lambda x: lax.cumsum(x, 0, reverse=True),
    "a matrix": lambda x: lax.dot(np.diag(np.arange(6.0)), x),
    "an outer product": lambda x: lax.mul(lax.reshape(x, (6, 1)), lax.reshape(x[:2], (1, 2))),
    "places": lambda x: x[np.array([4, 4, 0])],
    "writes": lambda x: lax.scatter_add(
        x, np.array([[1], [1], [9]]), x[:3], lax.ScatterDimensionNumbers((), (0,), (0,))
    ),
    "a scan": lambda x: lax.scan(lambda c, a: (c * a, c + a), 1.0, x)[1],
    "a long scan": lambda x: lax.scan(lambda c, _: (lax.sin(c), None), x, None, length=1500)[0],
    "a loop that counts": lambda x: lax.fori_loop(0, 3, lambda i, c: c + lax.dynamic_index_in_dim(x, i), x),
    "a loop that waits": lambda x: lax.while_loop(lambda c: c[0] < 9.0, lambda c: 2.0 * c, x),
    "a branch": lambda x: lax.cond(x[0] > 0.0, lambda x: x[:2], lambda x: x[3:5], x),
    "windows": lambda x: lax.pad(x, 0.0, [(1, -2, 1)]),
    "sorted": lambda x: lax.sort(x),
    "a quotient": lambda x: x[:3] / x[3:],
    "a composite": lambda x: lax.composite(lambda x: lax.exp(x), "test.exp")(x),
    "no elements": lambda x: x[:0],
    "no steps": lambda x: lax.scan(lambda c, a: (c + a, c * a), x[0], x[:0])[1],
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("local", [False, True])
def test_the_pattern_has_every_entry_of_the_differences(name, local):
    f = FUNCTIONS[name]
    found = jacobian_sparsity(f, X, local=local)
    assert found.shape == differences(f, X).shape
    assert not np.any((np.abs(differences(f, X)) > 1e-7) & ~found.toarray())


EXACT = ["stencil", "products", "a running product", "running sums backwards", "a matrix", "an outer product", "places"]
EXACT += ["writes", "a scan", "a long scan", "a loop that counts", "windows", "a quotient", "a composite"]


@pytest.mark.parametrize("name", EXACT)
def test_the_pattern_of_a_function_without_unknown_choices_is_exact(name):
    f = FUNCTIONS[name]
    dense = np.abs(differences(f, X)) > (0 if name == "a long scan" else 1e-7)
    np.testing.assert_array_equal(jacobian_sparsity(f, X).toarray(), dense)


def test_unknown_choices_give_all_possible_entries_and_known_ones_theirs():
    choose = FUNCTIONS["a branch"]
    assert pattern(choose, X) == [[1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0]]
    assert pattern(choose, X, local=True) == [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]]
    select = lambda x: lax.select_n(lax.gt(x[:2], 1.0), x[:2], x[2:])
    at = np.array([0.0, 2.0, 5.0, 6.0])
    assert pattern(select, at) == [[1, 0, 1, 0], [0, 1, 0, 1]]
    assert pattern(select, at, local=True) == [[1, 0, 0, 0], [0, 0, 0, 1]]
    assert pattern(lambda x: lax.max(x, 1.0), np.array([0.0, 2.0]), local=True) == [[0, 0], [0, 1]]
    assert pattern(lambda x: x[:2] * x[2:], np.array([0.0, 1.0, 2.0, 3.0]), local=True) == [[1, 0, 0, 0], [0, 1, 0, 1]]


def test_products_with_known_zeros_and_operations_without_derivative_cut():
    mask = np.array([1.0, 0.0, 1.0])
    assert pattern(lambda x: x * mask, np.ones(3)) == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert pattern(lambda x: lax.floor(x) + lax.stop_gradient(x), np.ones(3)) == [[0] * 3] * 3
    assert (
        pattern(lambda x: lax.convert_element_type(lax.convert_element_type(x, np.int32), x.dtype), np.ones(2))
        == [[0, 0]] * 2
    )


def test_a_position_from_the_argument_chooses_along_its_axis_alone():
    rows = lambda x: lax.dynamic_slice(x, (lax.convert_element_type(x[0, 0], np.int32), 0), (1, 2))
    assert pattern(rows, np.ones((3, 2))) == [[1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1]]


def test_other_arguments_are_constants_whose_values_a_global_pattern_ignores():
    f = lambda x, y: x * y
    assert pattern(f, np.ones(2), np.zeros(2)) == [[1, 0], [0, 1]]
    assert pattern(f, np.ones(2), np.zeros(2), local=True) == [[0, 0], [0, 0]]
    assert pattern(f, 1.0, np.zeros(2), argnums=-1) == [[1, 0], [0, 1]]


def test_trees_are_numbered_leaf_after_leaf():
    f = lambda tree: {"sum": tree["a"] + tree["b"][0], "b": tree["b"]}
    assert pattern(f, {"a": 1.0, "b": np.ones(2)}) == [[0, 1, 0], [0, 0, 1], [1, 1, 0]]


def test_types_suffice_for_a_global_pattern():
    assert pattern(lambda x: x * x, ShapeDtypeStruct((2,), np.float32)) == [[1, 0], [0, 1]]
    with config.enable_x64(False):
        assert pattern(lambda x: x[::-1], np.ones(2)) == [[0, 1], [1, 0]]


HESSIANS = {
    "linear": (lambda x: lax.reduce_sum(3.0 * x, (0,)), 0),
    "squares": (lambda x: lax.dot(x, x), 6),
    "neighbours": (lambda x: lax.reduce_sum(x[1:] * x[:-1], (0,)), 10),
    "a kink": (lambda x: lax.reduce_sum(lax.abs(x) + lax.max(x, 1.0), (0,)), 0),
    "a cut product": (lambda x: lax.reduce_sum(lax.floor(x * x[0]), (0,)), 0),
    "a function of a sum": (lambda x: lax.exp(lax.reduce_sum(x[:3], (0,))), 9),
    "a function of a function": (lambda x: lax.reduce_sum(lax.sin(lax.exp(x)), (0,)), 6),
    "a quotient": (lambda x: x[0] / x[1], 3),
    "a matrix": (lambda x: lax.dot(x, lax.dot(np.diag(np.arange(6.0)), x)), 5),
    "a loop": (lambda x: lax.fori_loop(0, 3, lambda i, c: c * x[2], x[0]), 3),
}


@pytest.mark.parametrize("name", HESSIANS)
def test_the_pattern_of_a_hessian_is_the_pairs_that_meet(name):
    f, count = HESSIANS[name]
    step = 1e-4
    gradient = lambda x: differences(lambda y: np.atleast_1d(f(y)), x, step)[0]
    dense = np.abs(differences(gradient, X, step)) > 1e-5
    found = hessian_sparsity(f, X)
    assert not np.any(dense & ~found.toarray())
    assert found.nnz == count
    assert found == found.T


def test_a_program_inside_of_a_primitive_is_run_and_an_unknown_one_is_dense():
    holder_p, unknown_p = Primitive("holder", multiple_results=True), Primitive("unknown")
    means(holder_p, "program", run_program)
    holder_p.def_abstract_eval(lambda *avals, program: program.out_avals)
    program = make_jaxpr(lambda x: x[::-1] * 2.0)(np.ones(2))
    assert pattern(lambda x: holder_p.bind(x, program=program)[0], np.ones(2)) == [[0, 1], [1, 0]]
    unknown_p.def_abstract_eval(lambda x: x)
    assert pattern(unknown_p.bind, np.ones(2)) == [[1, 1], [1, 1]]
    assert hessian_sparsity(lambda x: unknown_p.bind(x)[0], np.ones(2)).nnz == 4


def test_a_stranger_gives_his_primitive_a_rule():
    swap_p = Primitive("swap")
    swap_p.def_abstract_eval(lambda x: x)
    swap_p.def_rule("sparsity", lambda sets, x: x.ids[::-1])
    swap_p.def_rule("sparsity_pairs", no_pairs)
    assert pattern(swap_p.bind, np.ones(2)) == [[0, 1], [1, 0]]
    assert hessian_sparsity(lambda x: swap_p.bind(x)[0], np.ones(2)).nnz == 0


def test_a_loop_that_grows_for_long_ends_with_one_set():
    shift = lambda x: lax.while_loop(lambda c: c[0] < 9.0, lambda c: lax.concatenate([c[1:], c[:1]], 0) + c, x)
    assert jacobian_sparsity(shift, np.ones(200)).nnz == 200 * 200


def test_a_pattern_is_refused_for_arguments_without_derivative():
    with pytest.raises(TypeError, match=r"argument 0 has a leaf ~int64\[\]. Give real floats"):
        jacobian_sparsity(lambda x: x, 1)
    with pytest.raises(TypeError, match=r"complex128\[2\]. Give real floats"):
        jacobian_sparsity(lambda x: x, np.ones(2) * 1j)
    with pytest.raises(ValueError, match=r"argnums is 1, but f has 1 arguments\. Use 0 to 0"):
        jacobian_sparsity(lambda x: x, 1.0, argnums=1)
    with pytest.raises(TypeError, match=r"the result has the types \[float64\[3\]\]. Return one number"):
        hessian_sparsity(lambda x: x, np.ones(3))
    with pytest.raises(TypeError, match=r"local=True reads values, and .* has none\. Call it outside of jit"):
        make_jaxpr(lambda x: x * jacobian_sparsity(lambda y: y, x, local=True).nnz)(1.0)


def test_entries_outside_of_the_shape_are_refused():
    with pytest.raises(ValueError, match=r"the pattern got column 3. Its shape is \(2, 3\): use 0 to 2"):
        SparsityPattern((2, 3), [0], [3])
    with pytest.raises(ValueError, match=r"the array has the shape \(3,\). Give a matrix"):
        SparsityPattern.of(np.ones(3))
