"""Lowering of equations; the function that binds the primitive is in calque_autodiff."""

import numpy as np

from calque_core import lax, make_jaxpr, stage, typeof
from calque_core.lax import custom_root_p
from calque_xla_backend.modules.module import lower_jaxpr_to_module


def square_root(a, guess):
    """Bind the root of x * x - a, with the number of steps that its solver takes."""
    aval = typeof(a)

    def newton(a, x):
        def step(state):
            x, count = state
            return 0.5 * (x + a / x), count + 1

        return lax.while_loop(lambda s: lax.reduce_max(lax.abs(s[0] * s[0] - a)) > 1e-3, step, (x, 0))

    return custom_root_p.bind(
        a,
        guess,
        f=stage(lambda a, x: [x * x - a], [aval] * 2),
        solve=stage(newton, [aval] * 2),
        tangent_solve=stage(lambda a, x, y: [lax.sin(y)], [aval] * 3),
        num_consts=1,
    )


def test_roots_compile_to_what_they_evaluate_to(regime, dtypes_of, check_compiled):
    cases = [(np.array([4.0, 9.0], dtype), np.array([1.0, 2.0], dtype)) for dtype in dtypes_of("f")[1:]]
    check_compiled(square_root, [*cases, (np.float32(2.0), np.float32(1.0))], ulps=1)


def test_only_the_solver_is_compiled():
    text = lower_jaxpr_to_module(make_jaxpr(square_root)(np.float64(2.0), np.float64(1.0))).as_text()

    assert "stablehlo.while" in text
    assert "sine" not in text
