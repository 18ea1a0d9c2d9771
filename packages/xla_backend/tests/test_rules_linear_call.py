"""Lowering of linear functions against their evaluation."""

import numpy as np
import pytest

from calque_core import MissingRuleError, lax, make_jaxpr, stage, typeof
from calque_core.lax import linear_transpose_p
from calque_core.ops.calls.linear_call import linear_call
from calque_xla_backend import jit
from calque_xla_backend.modules.module import lower_jaxpr_to_module


def scaled(r, x):
    return linear_call(lambda r, x: (r * x, x - r * x), lambda r, cts: r * cts[0] + cts[1] - r * cts[1], r, x)


def test_calls_compile_to_what_they_evaluate_to(regime, dtypes_of, check_compiled):
    cases = [(np.arange(3).astype(dtype), np.ones(3, dtype)) for dtype in dtypes_of("fc")]
    check_compiled(scaled, cases)


def test_calls_close_over_large_arrays_and_values_around_them(check_compiled):
    table = np.arange(400.0)

    def program(x, y):
        z = x * y
        return linear_call(lambda _, v: v * z + v * table, lambda _, ct: ct * z + ct * table, None, y)

    check_compiled(program, [(np.ones(400), np.full(400, 2.0))])


def test_only_the_function_itself_is_compiled():
    fun = lambda x: linear_call(lambda r, x: x + x, lambda r, ct: lax.mul(2.0, lax.tanh(ct)), None, x)

    text = lower_jaxpr_to_module(make_jaxpr(fun)(1.0)).as_text()

    assert "stablehlo.add" in text
    assert "tanh" not in text


PROGRAM = stage(lambda r, x: [r * x], [typeof(np.ones(2))] * 2)


def transposed(r, ct):
    return linear_transpose_p.bind(r, ct, jaxpr=PROGRAM, num_res=1)[0]


def test_a_transpose_that_was_not_computed_is_not_compiled(monkeypatch):
    monkeypatch.delitem(linear_transpose_p.adapted, "decomposition", raising=False)
    with pytest.raises(MissingRuleError, match="MLIR translation rule for primitive 'linear_transpose'") as caught:
        jit(transposed)(np.ones(2), np.ones(2))
    assert "its transposed program is lowered instead" in str(caught.value)


def test_a_transpose_compiles_by_its_decomposition(monkeypatch):
    monkeypatch.setitem(linear_transpose_p.adapted, "decomposition", lambda r, ct, **_: [lax.mul(r, ct)])

    assert np.asarray(jit(transposed)(np.arange(2.0), np.full(2, 3.0))).tolist() == [0.0, 3.0]
