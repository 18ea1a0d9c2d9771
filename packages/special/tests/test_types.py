"""Evaluation against the type rule: over dtypes and shapes, with 64 bits and with 32, in values, types and refusals."""

from __future__ import annotations

import re

import numpy as np
import pytest

import calque_special as special
from calque_core import ShapeError, canonicalize_dtype, config, eval_jaxpr, lax, make_jaxpr, rule_matrix
from calque_core.testing import Operand, check_calls, check_primitive

pytestmark = pytest.mark.sampled(keep=0.2)

UNARY = {name: getattr(special, name) for name in ("lgamma", "digamma", "bessel_i0e", "bessel_i1e")}
BINARY = {
    name: getattr(special, name)
    for name in ("zeta", "polygamma", "igamma", "igammac", "igamma_grad_a", "random_gamma_grad")
}
TERNARY = {"betainc": special.betainc}
FUNCTIONS = {
    **UNARY,
    **{name: lambda x, f=f: f(x, x) for name, f in BINARY.items()},
    **{name: lambda x, f=f: f(x, x, x) for name, f in TERNARY.items()},
}
DTYPES = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]


def is_known(name):
    try:
        return bool(canonicalize_dtype(name))
    except TypeError:
        return False  # ml_dtypes is not installed


def outcome(call):
    """Return what a call gives, or the class and the words of its error, without places."""
    try:
        return call()
    except (TypeError, ValueError, OverflowError) as error:
        words = re.sub(r" at \S+:\d+( \([^()]*\))?", "", str(error).split("\n")[0])
        return type(error), words.replace("~", "")


def test_the_tables_have_every_function():
    functions = {name for name in special.__all__ if not name.endswith("_p")}
    assert functions == UNARY.keys() | BINARY.keys() | TERNARY.keys()


@pytest.mark.parametrize("enable_x64", [True, False], ids=["x64", "x32"])
@pytest.mark.parametrize("dtype", [*DTYPES, *COMPLEX, *filter(is_known, ["bfloat16", "float8_e4m3fn"])])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_evaluation_gives_the_type_that_the_type_rule_says_or_both_refuse(name, dtype, enable_x64):
    f, x = FUNCTIONS[name], (np.arange(6).reshape(2, 3) % 2 + 1).astype(canonicalize_dtype(dtype))
    with config.enable_x64(enable_x64):
        for part in (x, x[0, 0], x[:0]):
            out, program = outcome(lambda part=part: f(part)), outcome(lambda part=part: make_jaxpr(f)(part))
            if dtype in COMPLEX:
                assert out == program
                assert out[0] is TypeError
                continue
            (aval,) = program.out_avals
            assert (out.shape, out.dtype, aval.weak_type) == (aval.shape, aval.dtype, False)
            (again,) = eval_jaxpr(program, program.consts, part.astype(program.in_avals[0].dtype))
            assert again.dtype == aval.dtype
            np.testing.assert_array_equal(out.astype(float), again.astype(float))


OPERANDS = [
    *[Operand(np.ones(shape)) for shape in ((), 2, (2, 3), (1, 3))],
    *[Operand(np.ones(2, dtype)) for dtype in (np.float32, int, bool, complex)],
    *[Operand(value) for value in (True, 2, 1.5, 1j, "text", None, [1.0, 2.0], 10**40)],
]


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_eager_and_traced_calls_agree_about_types_and_refusals(name):
    check_calls(getattr(special, name), [OPERANDS] if name in UNARY else [OPERANDS, OPERANDS])


def test_operands_of_a_betainc_are_promoted_and_broadcast():
    out = special.betainc(2, np.float32(2.0), np.full((2, 1), 0.5, np.float32))
    assert (out.dtype, out.shape) == (np.float32, (2, 1))
    with pytest.raises(
        ShapeError, match=r"betainc of .*: the shapes do not broadcast\. Make the sizes of each axis equal"
    ):
        special.betainc(np.ones(2), np.ones(3), 0.5)


def test_complex_numbers_are_refused_in_words():
    with pytest.raises(TypeError, match=r"lgamma of complex128\[\] at .*: not defined for complex128\. Convert"):
        special.lgamma(np.complex128(1j))


@pytest.mark.parametrize("name", [name for name in special.__all__ if name.endswith("_p")])
def test_the_laws_that_core_knows_hold(name):
    primitive = getattr(special, name)
    counts = {"polygamma": 2, "zeta": 2, "regularized_incomplete_beta": 3}
    counts |= dict.fromkeys(("igamma", "igammac", "igamma_grad_a", "random_gamma_grad"), 2)
    x = np.array([0.25, 0.5, 0.75]) if primitive is special.regularized_incomplete_beta_p else np.array([1.0, 2.0, 3.0])
    with np.errstate(all="ignore"):  # a formula computes all its branches
        report = check_primitive(primitive, (x,) * counts.get(primitive.name, 1))
    assert [report.outcome(law) for law in ("evaluate", "stage", "decomposition")] == ["holds"] * 3


def test_the_matrix_of_rules_has_the_rules_of_the_family():
    header, row = rule_matrix([special.digamma_p]).splitlines()[:2]
    states = dict(zip(header.split(), row.split()[1:]))
    assert [states[kind] for kind in ("impl", "abstract_eval", "jvp", "batch", "lowering")] == ["+"] * 5
    assert lax.digamma is special.digamma
