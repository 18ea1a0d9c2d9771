"""All of `numpy.linalg` on matrices of the sizes 0 and 1, of each dtype, and on matrices without a result."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import eval_jaxpr, make_jaxpr, result_type
from calque_core.config import disable_jit
from calque_pytree import tree_leaves

pytestmark = pytest.mark.sampled(keep=0.3)

MATRICES = {
    "no elements": np.zeros((0, 0)),
    "one element": np.full((1, 1), 2.0),
    "a batch of no matrices": np.zeros((0, 2, 2)),
    **{
        dtype: np.array([[2, 1], [1, 3]]).astype(dtype)
        for dtype in ("int8", "uint64", "float32", "float64", "complex64")
    },
    "bool": np.eye(2, dtype=bool),
}
FUNCTIONS = {
    "cholesky": lambda m, a: m.linalg.cholesky(a),
    "qr": lambda m, a: m.linalg.qr(a),
    "eigh": lambda m, a: (m.linalg.eigh(a)[0], abs(m.linalg.eigh(a)[1])),
    "eigvals": lambda m, a: m.sort(m.linalg.eigvals(a).real),
    "svd": lambda m, a: (m.linalg.svd(a)[1], abs(m.linalg.svd(a)[0]), m.linalg.svd(a, compute_uv=False)),
    "solve": lambda m, a: m.linalg.solve(a, a),
    "inv": lambda m, a: m.linalg.inv(a),
    "det": lambda m, a: m.linalg.det(a),
    "slogdet": lambda m, a: m.linalg.slogdet(a),
    "pinv": lambda m, a: m.linalg.pinv(a),
    "matrix_rank": lambda m, a: m.linalg.matrix_rank(a),
    "matrix_power": lambda m, a: (m.linalg.matrix_power(a, 0), m.linalg.matrix_power(a, -2)),
    "norm": lambda m, a: (m.linalg.norm(a), m.linalg.norm(a, "nuc", (-2, -1)), m.linalg.norm(a, 2, (-2, -1))),
}
REFUSED = ["cholesky", "qr", "eigh", "eigvals", "svd", "solve", "inv", "det", "slogdet", "pinv", "matrix_rank"]


def traced(fun, x):
    jaxpr = make_jaxpr(fun)(x)
    return eval_jaxpr(jaxpr, jaxpr.consts, x)


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_traced_functions_give_the_types_and_values_of_numpy(name, kind):
    version = {"norm": "2.3.0", "matrix_rank": "2.4.0"}.get(name)
    if kind == "no elements" and version and np.lib.NumpyVersion(np.__version__) < version:
        pytest.skip(f"NumPy before {version} refuses {name} of no elements")
    program, x = FUNCTIONS[name], MATRICES[kind]
    wanted = tree_leaves(program(np, x))
    for got, want in zip(traced(lambda a: program(cnp, a), x), wanted, strict=True):
        assert (np.shape(got), np.asarray(got).dtype) == (np.shape(want), np.asarray(want).dtype)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", REFUSED)
def test_half_precision_is_refused_by_name(name, dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="bfloat16 is defined by ml_dtypes, which comes with jaxlib")
        dtype = result_type(dtype)
    with pytest.raises(TypeError, match=rf"of .*\[2,2\] at test_linalg.*: not defined for {np.dtype(dtype).name}"):
        make_jaxpr(lambda a: FUNCTIONS[name](cnp, a))(np.eye(2).astype(dtype))


@pytest.mark.parametrize("name", ["cholesky", "solve", "inv", "svd", "eigvals"])
def test_a_matrix_without_a_result_is_an_error_in_evaluation(name):
    x = np.full((2, 2), np.nan) if name in ("svd", "eigvals") else np.array([[0.0, 1.0], [0.0, 0.0]])
    with disable_jit(), pytest.raises(np.linalg.LinAlgError, match=r"of float64\[2,2\] at test_linalg.py"):
        FUNCTIONS[name](cnp, x)
