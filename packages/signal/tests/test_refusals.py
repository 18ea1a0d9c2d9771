"""What an operation refuses eagerly it refuses while tracing, in the same words; what it takes has the same type.

A table of arguments per function, most of them bad: every combination is called both ways.
"""

from __future__ import annotations

import numpy as np
import pytest

import calque_signal as signal
from calque_core import lax, trace_state_clean
from calque_core.testing import Operand, check_calls

pytestmark = [
    pytest.mark.sampled(keep=0.1),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # values are not the subject here
]


def operands(*values):
    return [Operand(value) for value in values]


def shaped(*shapes, dtype="float64"):
    return [np.ones(shape, dtype) for shape in shapes]


DTYPES = ["bool", "int8", "int64", "uint8", "float16", "float32", "float64", "complex64"]
SOME = operands(*shaped((), (2,), (2, 3), (0,), (2, 1, 3)), *shaped((2, 3), dtype="int8"), True, 1.5, "text")
ALL = [
    *operands(*shaped((), (1,), (2,), (3,), (0,), (2, 3), (1, 3), (2, 1, 3)), *[np.ones(2, d) for d in DTYPES]),
    *operands(True, 2, 1.5, 1j, "text", None, [1.0, 2.0], object(), np.array(["a"]), np.array([object()]), 10**40),
]
SIGNALS = operands(*shaped((2, 2, 3), (2, 4, 0), (2, 2)), np.ones((2, 4, 3), np.int8), 1.5, "text", None)
KERNELS = operands(*shaped((2, 2, 2), (4, 2, 9)), np.ones((2, 2, 3), np.complex64), np.ones((2, 2, 0)), 2, None)
SPACINGS = [None, (1,), (3,), (0,), (1, 1), "a", 2]
LAYOUTS = [None, ("NWC", "WIO", "NWC"), ("NCW", "OIW", "NCD"), ("NCW", "OIW"), "abc", 3]
LAYOUTS += [signal.ConvDimensionNumbers(*[axes] * 3) for axes in ((0, 1, 2), (0, 1, 1))]

WINDOWED = operands(*shaped((2, 3), (1, 2), (1, 1)))
WINDOWS = [(), (1, 2), (2, 2), (0, 1), (2,), (9, 9), None, "ab", (1.5, 1)]
SLIDES = [
    [(1, 2)],
    [None, (1, 1), (0, 1), "a"],
    ["SAME", "SAM", None, 3, [(0, 0)], [(0, 0), (1, -1)], [(-5, 0), (0, 0)], [(0,), (0, 0)]],
    [None, (2, 1), (0, 1)],
    [None, (1, 2), (1,)],
]
KINDS_OF_FFT = ["FFT", signal.FftType.RFFT, "irfft", "dft", None, 2]

# name -> the arguments of a call: for each, the values to try
TABLE = {
    "fft": [
        [SOME, KINDS_OF_FFT, [(3,), (2, 3), (4,), (0,), (), (1,) * 4, 3, None]],
        [ALL, ["IFFT", "RFFT"], [(1,), (2,)]],
    ],
    "conv": [[SIGNALS, KERNELS, [(1,), (0,), (), None, "a"], ["SAME", "same", "none", [(0, 0)], [0], None]]],
    "conv_with_general_padding": [[SIGNALS, KERNELS[:3], [(1,)], ["SAME", [(0, 0)]], SPACINGS, SPACINGS]],
    "conv_general_dilated": [
        [SIGNALS, KERNELS, [(1,)], ["SAME", [(0, -9)]], SPACINGS, [None], LAYOUTS[:2]],
        [SIGNALS[:3], KERNELS[:3], [(1,)], ["SAME"], [None], [None], LAYOUTS, [1, 2, 0, 1.0, None], [1, 2, -1]],
    ],
    "conv_transpose": [[SIGNALS[:3], KERNELS[:3], [(2,), (0,), None], ["SAME", "none", [(1, 0)]], SPACINGS, LAYOUTS]],
    "conv_general_dilated_patches": [[SIGNALS, [(2,), (0,), (1, 1), 2], [(1,), ()], ["SAME", [(0, -9)]], SPACINGS]],
    "conv_general_dilated_local": [[SIGNALS, KERNELS, [(1,)], ["VALID"], [(1,), (2,), (9,), None]]],
    "conv_dimension_numbers": [[[(), (1, 2), (2, 2, 3), [2, 2, 3]], [(), (1, 2, 3)], LAYOUTS]],
    **{
        name: [[SOME, SOME, [lax.ge_p, lax.add_p, None], WINDOWS], [WINDOWED, WINDOWED, [lax.le_p], *SLIDES]]
        for name in ("select_and_gather_add", "select_and_scatter_add")
    },
}
STAGED = {"reduce_window", "select_and_scatter"}  # they trace functions of the caller's: there is no second way


@pytest.mark.parametrize("name", sorted(TABLE))
def test_eager_and_traced_calls_agree_about_types_and_refusals(name):
    for pools in TABLE[name]:
        check_calls(getattr(signal, name), pools)
    assert trace_state_clean()


def test_the_table_has_every_function():
    functions = {name for name in signal.__all__ if not name.endswith("_p") and name[0].islower()}
    assert functions - {"padtype_to_pads"} == TABLE.keys() | STAGED
