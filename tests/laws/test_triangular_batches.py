import numpy as np
import pytest

from calque_batching import vmap
from calque_core import make_jaxpr
from calque_linalg import triangular_solve


@pytest.mark.parametrize("left_side", [False, True])
@pytest.mark.parametrize("size", [0, 1, 4])
def test_one_triangle_solves_the_systems_of_all_elements_in_one_call(left_side, size):
    a, b = np.triu(np.ones((3, 3))), np.arange(size * 9.0).reshape(size, 3, 3)
    solve = lambda b: triangular_solve(a, b, left_side=left_side)

    out = vmap(solve)(b)
    (eqn,) = (e for e in make_jaxpr(vmap(solve))(b).eqns if e.primitive.name == "triangular_solve")

    np.testing.assert_array_equal(out, np.stack([solve(x) for x in b]) if size else b)
    assert [v.aval.ndim for v in eqn.invars] == [2, 2]


@pytest.mark.parametrize("in_axes", [(0, None), (0, 1), (2, 0)])
def test_several_triangles_go_with_copies_of_a_right_hand_side_for_all(in_axes):
    a = np.moveaxis(np.triu(np.ones((4, 3, 3))) * np.arange(1, 5)[:, None, None], 0, in_axes[0])
    b = np.arange(36.0).reshape(4, 3, 3)
    b = b[0] if in_axes[1] is None else np.moveaxis(b, 0, in_axes[1])

    out = vmap(triangular_solve, in_axes)(a, b)

    for i, x in enumerate(out):
        each = [m if d is None else np.take(m, i, d) for m, d in zip((a, b), in_axes)]
        np.testing.assert_allclose(x, triangular_solve(*each))
