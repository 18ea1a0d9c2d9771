"""`einsum` is NumPy's, for one operand and for several, with every kind of label."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import NumpyRuleError, ShapeError, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

CASES = {
    "ij->ji": [(2, 3)],
    "ij": [(2, 3)],
    "ba": [(2, 3)],
    "ij->": [(2, 3)],
    "ij->j": [(2, 3)],
    "ii": [(3, 3)],
    "ii->i": [(3, 3)],
    "iii->i": [(2, 2, 2)],
    "iij->ji": [(2, 2, 3)],
    "...j->...": [(2, 3, 4)],
    "i...->...": [(2, 3, 4)],
    "ij,jk": [(2, 3), (3, 4)],
    "ij,jk->ik": [(2, 3), (3, 4)],
    "ij,jk->ki": [(2, 3), (3, 4)],
    "i,i": [(3,), (3,)],
    "i,i->i": [(3,), (3,)],
    "i,j->ij": [(2,), (3,)],
    "i,j->ji": [(2,), (3,)],
    "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)],
    "bhqd,bhkd->bhqk": [(2, 2, 3, 4), (2, 2, 5, 4)],
    "ij,ij->": [(2, 3), (2, 3)],
    "ij,kl->il": [(2, 3), (4, 5)],
    "ii,ij->j": [(3, 3), (3, 2)],
    "...ij,...jk->...ik": [(2, 3, 4), (2, 4, 5)],
    "...ij, jk -> ...ik": [(2, 5, 3, 4), (4, 2)],
    "...i,...i": [(2, 1, 3), (4, 3)],
    "...,...->...": [(2, 3), (3,)],
    "ij,j": [(2, 3), (1,)],
    "ij,jk,kl->il": [(2, 3), (3, 4), (4, 5)],
    "i,i,i->i": [(3,), (3,), (3,)],
    "ij,ik,il->jkl": [(2, 3), (2, 2), (2, 4)],
    "ab,cd,ac->bd": [(2, 3), (4, 5), (2, 4)],
    ",ij->ij": [(), (2, 3)],
    ",": [(), ()],
    "i,ij->": [(0,), (0, 2)],
}


@pytest.mark.parametrize("subscripts", CASES)
def test_a_sum_of_products_is_numpys(subscripts, agree, numbers):
    operands = [numbers(shape, seed=i) for i, shape in enumerate(CASES[subscripts])]
    agree(lambda m, *xs: m.einsum(subscripts, *xs), *operands, ulps=64)


@pytest.mark.parametrize("other", ["bool", "int8", "float32", "complex64"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "float64"])
@pytest.mark.parametrize("subscripts", ["ij,jk", "ij,ij->ij", "ij,kl->ik"])
def test_a_sum_of_products_has_numpys_dtype(subscripts, dtype, other, agree, numbers):
    agree(lambda m, x, y: m.einsum(subscripts, x, y), numbers((3, 3), dtype), numbers((3, 3), other), ulps=64)


@pytest.mark.parametrize("subscripts", ["bij,bjk->bik", "ij,jk"])
def test_a_matrix_product_is_one_contraction(subscripts):
    operands = [np.ones((2, 2, 2)[: len(term)]) for term in subscripts.split("->")[0].split(",")]
    names = [eqn.primitive.name for eqn in make_jaxpr(lambda *xs: np.einsum(subscripts, *xs))(*operands).eqns]
    assert names == ["dot_general"]


@pytest.mark.parametrize(
    "optimize", [True, False, "greedy", "optimal", ("greedy", 100), ["einsum_path", (0, 2), (0, 2), (0, 1)]]
)
@pytest.mark.parametrize(
    "subscripts", ["ij,jk,kl,lm->im", "ij,kl,jm,ln", "ii,ij,jk,k", "i,i,ij,j->", "...a,ab,bc...,c->...a", "i,j,k,l"]
)
def test_every_order_of_products_is_numpys(subscripts, optimize, agree, numbers):
    shapes = [(3,) * len(term.replace("...", "d")) for term in subscripts.split("->")[0].split(",")]
    operands = [numbers(shape, seed=i) for i, shape in enumerate(shapes)]
    agree(lambda m, *xs: m.einsum(subscripts, *xs, optimize=optimize), *operands, ulps=256)


def largest_value(jaxpr):
    return max(var.aval.size for eqn in jaxpr.eqns for var in eqn.outvars)


def test_a_long_chain_has_no_product_larger_than_its_operands():
    n = 20
    x, v = np.ones((n, n)), np.ones(n)
    chain = make_jaxpr(lambda x, v: np.einsum("ab,bc,cd,de,ef,f->a", x, x, x, x, x, v))(x, v)
    assert largest_value(chain) == n  # from the vector on
    assert [eqn.primitive.name for eqn in chain.eqns].count("dot_general") == 5
    cycle = make_jaxpr(lambda x: np.einsum("ab,cd,bc,da,ef,fe", x, x, x, x, x, x))(x)
    assert largest_value(cycle) == n * n
    from_the_left = make_jaxpr(lambda x: np.einsum("ab,cd,bc->ad", x, x, x, optimize=False))(x)
    assert largest_value(from_the_left) == n**4


def test_the_order_depends_on_shapes_alone():
    x, v = np.ones((5, 5)), np.ones(5)

    def told(x, v):
        for module in (np, cnp):
            assert module.einsum_path("ij,jk,k", x, x, v)[0] == np.einsum_path("ij,jk,k", *shapes)[0]
            assert module.einsum_path(x, [0, 1], v, [1], [0])[0] == ["einsum_path", (0, 1)]
            text = module.einsum_path("ij,jk,k", x, x, v, optimize="optimal")[1]
            assert text == np.einsum_path("ij,jk,k", *shapes, optimize="optimal")[1]
        return x

    shapes = (x, x, v)
    jaxpr = make_jaxpr(told)(x, v)
    assert not jaxpr.eqns


def test_labels_may_be_numbers_in_lists(agree, numbers):
    x, y = numbers((2, 3)), numbers((3, 4), seed=1)
    agree(lambda m, x, y: m.einsum(x, [0, 1], y, [1, 2], [2, 0]), x, y)
    agree(lambda m, x, y: m.einsum(x, [40, 1], y, [1, 20]), x, y)
    agree(lambda m, x, y: m.einsum(x, [0, Ellipsis], [Ellipsis, 0]), x, y)
    agree(lambda m, x: m.einsum([[1.0, 2.0], [3.0, 4.0]], [0, 1], x, [0, 2]), x)


def test_an_unknown_order_is_refused():
    x = np.ones((2, 2))
    for wrong in ("x", ["einsum_path", (0, 7)], ["einsum_path", (0, 1)], 3):
        with pytest.raises(ValueError, match=r"einsum 'ij,jk,kl'.*optimize is .*Use True, False, 'greedy', 'optimal'"):
            make_jaxpr(lambda x, w=wrong: np.einsum("ij,jk,kl", x, x, x, optimize=w))(x)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: np.einsum("ij,jk", x), ValueError, "the subscripts describe 2 operands, but 1 were passed"),
        (lambda x: np.einsum("ijk", x), ValueError, "'ijk' does not name the axes of an operand of type float64[2,3]"),
        (lambda x: np.einsum("i", x), ValueError, "'i' does not name the axes"),
        (lambda x: np.einsum("i1", x), ValueError, "'i1' may hold only letters and one '...'"),
        (lambda x: np.einsum("ij->ik", x), ValueError, "the result must name labels of the operands, each once"),
        (lambda x: np.einsum("ij->ii", x), ValueError, "the result must name labels of the operands, each once"),
        (lambda x: np.einsum("i...->i", x), ValueError, "and '...' if an operand has it"),
        (lambda x: np.einsum("ij,jk", x, x), ShapeError, "the axes of 'j' have the sizes 3 and 2"),
        (lambda x: np.einsum("ii", x), ShapeError, "the axes of 'i' have the sizes 2 and 3"),
        (lambda x: np.einsum("ii", x[:1]), ShapeError, "the axes of 'i' have the sizes 1 and 3"),
        (lambda x: np.einsum(x, [0, "i"]), TypeError, "Give a string such as 'ij,jk->ik', or after each"),
        (lambda x: np.einsum("ij", x, dtype=np.float32), TypeError, "dtype= is not supported"),
        (lambda x: np.einsum("ij", x, out=np.ones((2, 3))), TypeError, "out= is not supported"),
    ],
)
def test_subscripts_that_do_not_fit_are_refused(call, error, words):
    with pytest.raises(error) as caught:
        make_jaxpr(call)(np.ones((2, 3)))
    assert words in str(caught.value)


def test_subscripts_that_are_no_string_are_named_by_their_type():
    with pytest.raises(TypeError, match=r"the subscripts are float64\[2,3\]\. Give a string such as 'ij,jk->ik', or"):
        cnp.einsum(np.ones((2, 3)), np.ones((2, 3)))


def test_a_path_of_traced_subscripts_is_refused():
    for operands in (lambda x: (x,), lambda x: (x, x), lambda x: (x, [0, 1], x)):
        with pytest.raises(NumpyRuleError, match=r"einsum.*the subscripts are float64\[2,2\]. Give a string such as"):
            make_jaxpr(lambda x, operands=operands: np.einsum_path(*operands(x)))(np.ones((2, 2)))
