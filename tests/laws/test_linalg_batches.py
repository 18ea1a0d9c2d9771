import numpy as np
import pytest

import calque_linalg as linalg
from calque_batching import vmap
from calque_core import make_jaxpr

MATRICES = np.random.default_rng(0).uniform(-1, 1, (4, 3, 3)) + 3 * np.eye(3)
FUNCTIONS = {
    "cholesky": lambda x: linalg.cholesky(x @ x.T),
    "lu": linalg.lu,
    "qr": linalg.qr,
    "geqrf": linalg.geqrf,
    "householder_product": lambda x: linalg.householder_product(*linalg.geqrf(x)),
    "det": linalg.det,
    "solve": lambda x: linalg.solve(x, x[:, :1]),
    "lu_pivots_to_permutation": lambda x: linalg.lu_pivots_to_permutation(linalg.lu(x)[1], 5),
    "tridiagonal_solve": lambda x: linalg.tridiagonal_solve(x[0], x[1] + 3.0, x[2], x),
}


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_batch_of_matrices_is_one_operation(name, axis):
    fun, xs = FUNCTIONS[name], np.moveaxis(MATRICES, 0, axis)
    outs = vmap(fun, axis)(xs)
    expected = [fun(x) for x in MATRICES]
    for out, ones in zip(*([outs], [expected]) if not isinstance(outs, tuple) else (outs, zip(*expected)), strict=True):
        np.testing.assert_allclose(out, np.stack(ones), atol=1e-13)
    assert [e.primitive.name for e in make_jaxpr(vmap(fun, axis))(xs).eqns].count(name) == 1


def test_one_matrix_solves_the_systems_of_all_elements_in_one_call():
    b = np.arange(24.0).reshape(4, 3, 2)
    together = vmap(lambda y: linalg.solve(MATRICES[0], y))
    np.testing.assert_allclose(together(b), np.linalg.solve(MATRICES[0], b))
    (eqn,) = (e for e in make_jaxpr(together)(b).eqns if e.primitive.name == "solve")
    assert [v.aval.shape for v in eqn.invars] == [(3, 3), (3, 8)]
