"""`vmap(missing="loop")` before and after every other transformation: as if the operation had a batching rule."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from agreement import assert_close
from custom_batches import unmappable_p
from transformations import TRANSFORMATIONS

from calque_autodiff import grad
from calque_batching import vmap
from calque_core import lax

XS, YS = np.linspace(0.1, 0.9, 6).reshape(2, 3), np.linspace(-0.5, 1.0, 6).reshape(2, 3)


@pytest.mark.sampled(keep=0.5)
@pytest.mark.parametrize("outer", [*product([name for name in TRANSFORMATIONS if name != "vmap"], repeat=2)])
@pytest.mark.parametrize("inner", [lambda f: f, lambda f: grad(lambda x, y: f(x, y).sum())])
def test_a_loop_in_vmap_composes_with_other_transformations(outer, inner):
    looped = vmap(inner(lambda x, y: lax.sin(unmappable_p.bind(x * y)) * y), missing="loop")
    mapped = vmap(inner(lambda x, y: lax.sin(x * y) * y))
    results = []
    for fun in (looped, mapped):
        fun = lambda x, y, fun=fun: [fun(x, y)]
        for name in reversed(outer):
            fun = TRANSFORMATIONS[name](fun, [True, True])
        results.append(fun(XS, YS))
    assert_close(*results, 1e-13)
