"""Lowering of reductions by windows against their evaluation."""

import numpy as np
import pytest

from calque_core import lax
from calque_xla_backend import jit

pytestmark = pytest.mark.sampled(keep=0.3)

WINDOWS = [
    ((2, 2), (2, 2)),
    ((2, 3), (2, 3), ((1, 0), (0, 2))),
    ((1, 1), (1, 2), ((-1, 0), (0, 0))),
    ((3, 2), (1, 1), "SAME", (1, 2), (2, 1)),
    ((9, 1), (1, 1)),
]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize(("name", "kinds", "start"), [("add", "iufc", 0), ("max", "biuf", 0), ("min", "biuf", 1)])
def test_windows_compile_to_what_they_evaluate_to(name, kinds, start, window, regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(0)
    cases = [(rng.integers(0, 9, shape).astype(dtype),) for dtype in dtypes_of(kinds) for shape in ((4, 6), (1, 2))]
    check_compiled(lambda x: lax.reduce_window(x, x.dtype.type(start), getattr(lax, name), *window), cases)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows_of_any_function_compile(window, check_compiled):
    x = np.random.default_rng(1).normal(size=(4, 6))
    check_compiled(lambda x: lax.reduce_window(x, 2.0, lax.mul, *window), [(x,)], ulps=4)


def test_windows_that_do_not_overlap_are_one_operation():
    lowered = lambda *window: (
        jit(lambda x: lax.reduce_window(x, 0.0, lax.add, *window)).lower(np.ones((4, 4))).as_text()
    )
    assert "stablehlo.reduce_window" in lowered((2, 2), (2, 2))
    assert "stablehlo.reduce_window" not in lowered((2, 2), (1, 1))


@pytest.mark.parametrize("name", ["select_and_gather_add", "select_and_scatter_add"])
def test_winners_compile_to_what_they_evaluate_to(name, regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(3)
    cases = [tuple(rng.integers(0, 4, (2, 3, 4)).astype(dtype)) for dtype in dtypes_of("iuf")]
    cases += [tuple(np.ones((2, 0, 4), dtype)) for dtype in dtypes_of("f")]
    check_compiled(lambda v, x: getattr(lax, name)(v, x, lax.le_p, (2, 3), None, "SAME"), cases)
