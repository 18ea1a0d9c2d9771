"""What an operation refuses eagerly it refuses while tracing, in the same words; what it takes has the same type.

A table of arguments per function, most of them bad: every combination is called both ways.
"""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import config, lax
from calque_core.errors import ShapeError
from calque_core.staging.make_jaxpr import make_jaxpr
from calque_core.testing import Operand, check_calls
from calque_core.traces.trace import current_trace, evaluation

pytestmark = [
    pytest.mark.sampled(keep=0.1),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # values are not the subject here
]


def operands(*values):
    return [Operand(value) for value in values]


def shaped(*shapes, dtype="float64"):
    return [np.ones(shape, dtype) for shape in shapes]


class Odd:
    pass


SHAPES = [(), (1,), (2,), (3,), (0,), (2, 3), (1, 3), (2, 1, 3)]
DTYPES = ["bool", "int8", "int64", "uint8", "float16", "float32", "float64", "complex64"]
SCALARS = [True, 2, 1.5, 1j]
NO_ARRAYS = ["text", None, [1.0, 2.0], Odd(), np.array(["a"]), np.array([Odd()]), 10**40]

SHAPED = operands(*shaped(*SHAPES))
TYPED = operands(*[np.ones(2, dtype) for dtype in DTYPES], *SCALARS)
ALL = [*SHAPED, *TYPED, *operands(*NO_ARRAYS)]
SOME = operands(*shaped((), (2,), (2, 3), (0,), (2, 1, 3)), *shaped((2, 3), dtype="int8"), True, 1.5, "text")
FEW = operands(*shaped((), (2,), (1, 3)), 1.5, 1j, None)
WORDS = operands(*shaped((), (2,), (3,), (0,), dtype="uint32"), *shaped((2,), dtype="uint64"), 1, None)

AXES = [-4, -1, 0, 1, 5, (0,), (0, 0), (0, -2), (1, 0), (), None, 1.0, "a", [0], np.int64(0), (0.5,), Odd(), 10**30]
ONE_AXIS = [-4, -1, 0, 1, 3, None, "a", 1.0]
COUNTS = [0, 1, 2, -1, 9, 1.5, "a", None, np.int8(1), 10**30]
SIZES = [(), (2,), (2, 3), (3, 2), (6,), (-1,), (2, -3), (2.0, 3), "ab", None, 6, (2, None), [2, 3], (0,), (10**30,)]
DTYPE_ARGUMENTS = [None, "float32", np.int8, float, int, bool, complex, "nonsense", object, "S3", 3, "uint8"]
POSITIONS = [(), (0,), (1,), (0, 1), (1, 0), (0, 0), (-1,), (2,), (0, 5), "a", None, 0, (0.5,)]
PAIRINGS = [
    (((1,), (0,)), ((), ())),
    (((1,), (1,)), ((0,), (0,))),
    (((1, 0), (0,)), ((), ())),
    (((5,), (0,)), ((), ())),
    (((0, 0), (0, 0)), ((), ())),
    (((0,), (0,)), ((0,), (0,))),
    (((), ()), ((0,), ())),
    ((("a",), (0,)), ((), ())),
    ((1, 0), ((), ())),
    (((1.0,), (0,)), ((), ())),
    ((), ()),
    None,
]
PADDINGS = [[(0, 0, 0)], [(1, 1, 1)], [(-5, 0, 0)], [(0, 0, -1)], [(0, 0)], [], [(0, 0, 0)] * 2, None, "abc", [0]]

UNARY = [
    "neg",
    "abs",
    "sign",
    "square",
    "sqrt",
    "rsqrt",
    "exp",
    "expm1",
    "log",
    "log1p",
    "sin",
    "cos",
    "tan",
    "tanh",
    "tanh_slope",
    "logistic_slope",
    "erf",
    "erfc",
    "population_count",
    "clz",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "asinh",
    "acosh",
    "atanh",
    "exp2",
    "cbrt",
    "logistic",
    "erf_inv",
    "floor",
    "ceil",
    "round",
    "is_finite",
    "real",
    "imag",
    "conj",
    "bitwise_not",
    "stop_gradient",
    "reciprocal",
    "discard",
    "zeros_like",
    "ones_like",
    "optimization_barrier",
    "dce_sink",
    "sort",
]
BINARY = [
    "add",
    "add_any",
    "sub",
    "mul",
    "div",
    "rem",
    "max",
    "min",
    "pow",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "shift_left",
    "shift_right_logical",
    "shift_right_arithmetic",
    "complex",
    "atan2",
    "nextafter",
    "dot",
    "mulhi",
    "broadcast_like",
    "batch_matmul",
]
REDUCTIONS = [
    "reduce_sum",
    "reduce_max",
    "reduce_min",
    "reduce_and",
    "reduce_or",
    "reduce_prod",
    "reduce_xor",
    "argmax",
    "argmin",
    "rev",
    "squeeze",
    "expand_dims",
]

CORNERS = [(0, 0), (1, -1), (9, -9), (0,), (), 0, None, "ab", (0.5, 0), (np.zeros(2, int), 0)]
ROWS = operands(np.array([[0], [5]]), np.zeros((2, 1)), np.zeros((2, 2), int), np.zeros((), int), "a")
FIELDS = [
    ((1,), (0,), (0,)),
    ((1,), (0,), (5,)),
    ((0,), (0,), (0,)),
    ((1,), (), (0,)),
    ((1,), (0, 0), (0,)),
    ((1,), (-1,), (0,)),
]
READS = [*(lax.GatherDimensionNumbers(*fields) for fields in FIELDS), None, FIELDS[0]]
WRITES = [*(lax.ScatterDimensionNumbers(*fields) for fields in FIELDS), None, FIELDS[0]]

# name -> the arguments of a call: for each, the values to try
TABLE = {
    **{name: [[ALL]] for name in UNARY},
    **{name: [[SHAPED, SHAPED], [TYPED, TYPED], [ALL, FEW]] for name in BINARY},
    "threefry2x32": [[WORDS, WORDS, FEW, WORDS]],
    "philox4x32": [[[WORDS, FEW], [WORDS] * 4]],
    "rng_bit_generator": [[WORDS, (2,)]],
    **{name: [[SOME, AXES]] for name in [*REDUCTIONS, "transpose"]},
    "clamp": [[SOME, SOME, FEW]],
    "select": [[SOME, SOME, FEW]],
    "select_n": [[SOME, SOME, FEW], [SOME], [SOME, FEW, FEW, FEW]],
    "integer_pow": [[ALL, [2, 0, -1, 1.5, "a", None, np.int8(2), 10**30, np.ones(1, int)]]],
    "round": [[ALL], [SOME, [0, 1, 2, "a", None, 1.5]]],
    "reshape": [[SOME, SIZES]],
    "broadcast": [[SOME, SIZES]],
    "broadcast_to_rank": [[SOME, [0, 1, 4, -1, 1.5, "a", None, np.int8(3)]]],
    "collapse": [[SOME, ONE_AXIS, ONE_AXIS]],
    "empty": [[SIZES, DTYPE_ARGUMENTS]],
    "ragged_dot_general": [
        [
            SOME,
            operands(*shaped((2, 3, 1), (1, 3, 2), (3,))),
            operands(np.ones(2, int), np.ones(1), np.array(1), 1, "a"),
            [lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))],
        ]
    ],
    "ragged_dot": [
        [
            SOME,
            operands(*shaped((2, 3, 1), (1, 3, 2), (3,))),
            operands(np.ones(2, int), np.ones(1), np.array(1), 1, "a"),
        ]
    ],
    "broadcast_in_dim": [[SOME, SIZES, POSITIONS]],
    "slice": [
        [SOME, [(0,), (0, 0), (1, 2), (-1,), (), None, (0.5,), 0], [(2,), (1, 1), (9,), None], [None, (0,), "a"]]
    ],
    "pad": [[SOME, operands(0, 1.5, 1j, "text", None, np.ones(2)), PADDINGS]],
    **{name: [[SOME, ONE_AXIS]] for name in ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"]},
    "concatenate": [[[[], None, 3, [[1.0]], "ab"], ONE_AXIS]],
    "split": [[SOME, SIZES, ONE_AXIS]],
    "stack": [[[[], None, 3, [[1.0]], "ab"], ONE_AXIS]],
    "unstack": [[SOME, ONE_AXIS]],
    "tile": [[SOME, SIZES]],
    "convert_element_type": [[SOME, DTYPE_ARGUMENTS]],
    "bitcast_convert_type": [[ALL, DTYPE_ARGUMENTS]],
    "zeros_like": [[ALL], [SOME, DTYPE_ARGUMENTS], [SOME, [None], SIZES]],
    "full_like": [[SOME, ALL], [FEW, FEW, DTYPE_ARGUMENTS]],
    "full": [[SIZES, SOME], [[(2,)], ALL, DTYPE_ARGUMENTS]],
    "iota": [[DTYPE_ARGUMENTS, [0, 3, -1, 1.5, "a", None, (2,)]]],
    "broadcasted_iota": [[DTYPE_ARGUMENTS[:5], SIZES, ONE_AXIS]],
    "dot_general": [[SOME, FEW + operands(np.ones((3, 2))), PAIRINGS]],
    "dot": [[SHAPED, SHAPED], [TYPED, TYPED], [ALL, FEW], [SOME, SOME, DTYPE_ARGUMENTS]],
    "dynamic_slice": [[SOME, CORNERS, [(1, 2), (0, 0), (9, 1), (1,), (), None, (1.5, 1)]]],
    "dynamic_update_slice": [[SOME, operands(*shaped((1, 2), (9, 9), (2,), ()), 1), CORNERS]],
    "dynamic_slice_in_dim": [[SOME, operands(0, 1.0, "a", np.zeros(2, int)), [1, 0, 9, -1, 1.5], ONE_AXIS]],
    "dynamic_update_slice_in_dim": [[SOME, operands(*shaped((1, 3), (9, 9), (3,), ()), 1), operands(0, 1.0), ONE_AXIS]],
    "index_take": [
        [SOME, [(np.zeros(2, int),), (np.zeros(2),), (), (np.zeros((1, 1), int),)], [(0,), (9,), (0, 1), ()]]
    ],
    "gather": [
        [SOME, ROWS, READS, [(1, 3), (1, 1), (9, 3), (1,), None]],
    ],
    **{
        name: [[SOME, ROWS, operands(*shaped((2, 3), (2, 1), (3,), (), dtype=float), 1, 1j), WRITES]]
        for name in ("scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max")
    },
    "scatter_apply": [[SOME, ROWS, [lax.abs, None], WRITES]],
    "dynamic_index_in_dim": [
        [SOME, operands(0, -1, 9, 1.0, "a", None, np.zeros(2, int), True, np.uint8(1)), ONE_AXIS, [True, False]]
    ],
    "dynamic_update_index_in_dim": [
        [SOME, FEW + operands(*shaped((3,), (2, 1), (2, 3)), 9), operands(0, -1, 1.0), ONE_AXIS]
    ],
    "argmax": [[SOME, AXES], [SOME, [0], DTYPE_ARGUMENTS]],
    "reduce_precision": [[ALL, [5], [10]], [FEW, [0, -1, 5, 1.5, None, "a"], [0, -1, 99, 1.5, None]]],
    "sort": [[ALL], [SOME, ONE_AXIS, [True], [1, 0, 2, None]], [[[], (), "ab", None]]],
    "sort_key_val": [[SOME, FEW, ONE_AXIS]],
    **{name: [[SOME, COUNTS, ONE_AXIS]] for name in ["approx_max_k", "approx_min_k"]},
    "top_k": [[ALL, [1, 0]], [SOME, COUNTS]],
    "slice_in_dim": [[SOME, [None, 0, -1, 9, 1.5], [None, 1, -9, "a"], [1, 0, None], ONE_AXIS]],
    "index_in_dim": [[SOME, [0, -1, 9, 1.5, None], ONE_AXIS, [True, False]]],
    **{
        name: [[FEW, ["i", (), ("i", "i"), None, [1]]]]
        for name in ["psum", "pmean", "pmax", "pmin", "pargmax", "pargmin"]
    },
    **{name: [[FEW, ["i", ("i", "i"), None, [1]]]] for name in ["all_gather", "all_gather_invariant", "psum_scatter"]},
    "pvary": [[FEW, ["i", (), ("i", "i"), None, [1]]]],
    "all_to_all": [[FEW, ["i", ("i", "i"), [1]], ONE_AXIS, ONE_AXIS]],
    "pswapaxes": [[FEW, ["i", ("i", "i"), [1]], ONE_AXIS]],
    **{name: [[FEW, ["i", None], [[], [(0, 1)], [0], None, 3]]] for name in ["ppermute", "pshuffle"]},
    "pbroadcast": [[FEW, ["i", None], [0, -1, None, "a"]]],
    **{name: [[["i", (), ("i", "i"), None, [1]]]] for name in ["axis_index", "axis_size"]},
}
# These run functions of the caller's, which they trace whoever calls: there is no second way.
STAGED = {
    "cond",
    "switch",
    "platform_dependent",
    "composite",
    "while_loop",
    "fori_loop",
    "scan",
    "map",
    "associative_scan",
    "reduce",
    "custom_linear_solve",
    "linear_call",
}


def check(name):
    for pools in TABLE[name]:
        check_calls(getattr(lax, name), pools)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_eager_and_traced_calls_agree_about_types_and_refusals(name):
    check(name)
    assert current_trace() is evaluation


@pytest.mark.parametrize("name", ["add", "sub", "pow", "broadcast_in_dim", "full", "dot", "convert_element_type"])
def test_they_agree_in_32_bits_too(name):
    with config.enable_x64(False):
        check(name)


def test_the_table_has_every_function():
    of_shapes_alone = {"broadcast_shapes"}
    functions = {n for n in lax.__all__ if not n.endswith("_p") and n[0].islower()}
    functions -= of_shapes_alone
    assert functions == TABLE.keys() | STAGED


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (
            lambda: lax.broadcast_in_dim(np.ones(2), (2, 3), (0, 1)),
            ShapeError,
            r"broadcast_in_dim at \S*test_ops_refusals.py:\d+ .* cannot broadcast float64\[2\] to the shape \(2, 3\)",
        ),
        (lambda: lax.broadcast_in_dim(np.ones((2, 3)), (2,), (0, 1)), ShapeError, "the positions must differ"),
        (lambda: lax.broadcast(np.ones(2), (-1,)), ShapeError, "no size may be negative"),
        (
            lambda: lax.broadcast_shapes((2,), (3,)),
            ShapeError,
            r"shapes \(2,\) and \(3,\) at \S*test_ops_refusals.py:\d+ .* do not broadcast. Make the sizes equal or 1",
        ),
        (lambda: lax.broadcast(1.0, (10**30,)), ValueError, "has a size above 9223372036854775807"),
        (
            lambda: lax.dynamic_update_index_in_dim(np.zeros((2, 3)), 9.0, 0, 0),
            ShapeError,
            "dynamic_update_index_in_dim of .*the update is no slice",
        ),
        (lambda: lax.dynamic_index_in_dim(np.ones(0), 0), ShapeError, "the sizes of the slice are"),
        (lambda: lax.sign(np.array([True])), TypeError, "sign of .*not defined for bool"),
        (lambda: lax.neg(np.array([True])), TypeError, "neg of .*not defined for bool"),
        (lambda: lax.sub(np.array([True]), True), TypeError, "sub of .*not defined for bool"),
        (lambda: lax.add_any(np.ones(2), np.ones((3, 2))), ShapeError, "add_any of .*the shapes differ"),
        (lambda: lax.add_any(np.ones(2), np.ones(2, int)), TypeError, "add_any of .*the dtypes differ"),
        (lambda: lax.bitcast_convert_type(np.ones(3, np.int8), np.int16), TypeError, "the last axis must hold 2"),
        (lambda: lax.expand_dims(1.0, None), TypeError, "dimensions is None. Give a sequence of integers"),
        (
            lambda: lax.concatenate([np.ones((2, 2)), np.ones((2, 3))], 0),
            ShapeError,
            r"along axis 0 at .*: the shapes do not fit\. All axes except the joined one must have equal sizes\.",
        ),
        (
            lambda: lax.tile(np.ones(2), (-1,)),
            ValueError,
            r"reps is \(-1,\)\. Give 1 numbers of zero or more, one per axis",
        ),
    ],
)
def test_evaluation_refuses_what_the_type_rule_refuses(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_floats_of_a_bool_array_and_a_bool_have_one_dtype():
    bools = np.array([True, False])
    for function in (lax.pow, lax.complex):
        for args in ((bools, True), (True, bools)):
            assert function(*args).dtype == make_jaxpr(function)(*args).out_avals[0].dtype
    assert lax.pow(bools, True).dtype == np.float16
