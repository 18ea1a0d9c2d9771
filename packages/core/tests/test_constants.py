"""The arrays that a program captured, with the lines that use them."""

import numpy as np

from calque_core import captured_constants, lax, make_jaxpr
from calque_core.jaxprs.constants import bytes_text

SMALL, LARGE = np.ones(2, np.float32), np.ones((10, 2))


def test_constants_are_listed_by_size_with_their_first_lines():
    def fun(x):
        y = lax.add(x, SMALL)
        z = lax.dot(LARGE, y.astype(float))
        return lax.dot(LARGE, z[:2])

    large, small = captured_constants(make_jaxpr(fun)(np.ones(2, np.float32)))
    first = fun.__code__.co_firstlineno
    assert (str(large.aval), large.nbytes, large.source_info.line) == ("float64[10,2]", 160, first + 2)
    assert (str(small.aval), small.nbytes, small.source_info.line) == ("float32[2]", 8, first + 1)
    assert str(small) == f"float32[2] (8 B), used at {__file__}:{first + 1} ({fun.__qualname__})"


def test_constants_of_programs_inside_are_listed_once():
    def fun(x):
        return lax.fori_loop(0, 3, lambda i, c: lax.add(c, LARGE), lax.mul(x, LARGE))

    (constant,) = captured_constants(make_jaxpr(fun)(np.ones((10, 2))))
    assert constant.nbytes == 160


def test_a_constant_that_no_operation_uses_has_no_line():
    (constant,) = captured_constants(make_jaxpr(lambda: LARGE)())
    assert (constant.nbytes, constant.source_info) == (160, None)
    assert str(constant) == "float64[10,2] (160 B)"


def test_a_program_without_constants_has_none():
    assert captured_constants(make_jaxpr(lax.sin)(1.0)) == []


def test_sizes_have_units():
    assert [bytes_text(n) for n in (999, 1000, 2_500_000, 3_000_000_000)] == ["999 B", "1.0 kB", "2.5 MB", "3.0 GB"]
