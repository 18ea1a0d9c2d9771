"""Calls of public functions, by name, for the law that settings stay the user's: inputs that most functions take, and
calls of the functions that take none of them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

import calque
from calque.lax import linalg as lax_linalg
from calque.nn import initializers
from calque.scipy import linalg as scipy_linalg
from calque.scipy import special
from calque_core import lax
from calque_pytree import tree_leaves

Value = Any
MODULES: dict[str, ModuleType] = {
    "numpy": calque.numpy,
    "numpy.linalg": calque.numpy.linalg,
    "numpy.fft": calque.numpy.fft,
    "lax": calque.lax,
    "lax.linalg": lax_linalg,
    "nn": calque.nn,
    "nn.initializers": initializers,
    "scipy.special": special,
    "scipy.linalg": scipy_linalg,
    "random": calque.random,
}

SINGLE = np.array([0.25, 0.5, 0.75], np.float32)
DOUBLE = np.array([0.25, 0.5, 0.75])
WHOLE = np.array([1, 2, 3])
SHORT = np.array([3, 1, 2], np.int8)
WIDE = np.array([[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]])
ROWS_OF_GROUPS = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
SQUARE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
MASK = np.array([True, False, True])
COMPLEX = DOUBLE + 1j * DOUBLE[::-1]
INPUTS: dict[str, tuple[Value, ...]] = {
    "a vector": (DOUBLE,),
    "single precision": (SINGLE,),
    "integers": (WHOLE,),
    "short integers": (SHORT,),
    "bools": (MASK,),
    "complex numbers": (COMPLEX,),
    "a matrix": (WIDE,),
    "a square": (SQUARE,),
    "a number": (3,),
    "a list": ([SINGLE, SINGLE],),
    "two vectors": (DOUBLE, DOUBLE),
    "beside a number": (SINGLE, 2.0),
    "integers beside a number": (WHOLE, 2),
    "two dtypes": (SINGLE, DOUBLE),
    "integers and floats": (WHOLE, SINGLE),
    "two ranks": (WIDE, DOUBLE),
    "two matrices": (SQUARE, SQUARE),
    "a choice": (MASK, SINGLE, SINGLE),
    "bounds": (SINGLE, 0.25, 0.75),
}
for array in tree_leaves(list(INPUTS.values())):
    if isinstance(array, np.ndarray):
        array.flags.writeable = False  # a second argument of NumPy's ufuncs may be `out`

KEY = calque.random.key(0)
IMAGE, KERNEL = np.arange(32.0).reshape(1, 2, 4, 4) / 8, np.ones((3, 2, 2, 2)) / 4
LINES, LINE_KERNEL = np.arange(12.0).reshape(1, 2, 6) / 8, np.ones((3, 2, 2)) / 4
QUERIES = np.arange(24.0).reshape(1, 3, 2, 4) / 8
FIRST_AXIS = calque.lax.GatherDimensionNumbers((1,), (0,), (0,))
SCATTERED = calque.lax.ScatterDimensionNumbers((1,), (0,), (0,))
PRODUCT = (((1,), (0,)), ((), ()))
Call = Callable[..., Value]


def scattered(f: Call) -> Value:
    return f(SQUARE, np.array([[0], [2]]), WIDE, SCATTERED)


def factored(f: Call) -> Value:
    return f((lax_linalg.cholesky(SQUARE), True), DOUBLE)


CALLS: dict[str, Call] = {
    "numpy.astype": lambda f: f(DOUBLE, np.float32),
    "numpy.reshape": lambda f: f(WIDE, (3, 2)),
    "numpy.swapaxes": lambda f: f(WIDE, 0, 1),
    "numpy.moveaxis": lambda f: f(WIDE, 0, 1),
    "numpy.rollaxis": lambda f: f(WIDE, 1),
    "numpy.expand_dims": lambda f: f(DOUBLE, 0),
    "numpy.broadcast_to": lambda f: f(DOUBLE, (2, 3)),
    "numpy.split": lambda f: f(DOUBLE, 3),
    "numpy.vsplit": lambda f: f(WIDE, 2),
    "numpy.hsplit": lambda f: f(WIDE, 3),
    "numpy.dsplit": lambda f: f(WIDE[None], 3),
    "numpy.kaiser": lambda f: f(4, 2.0),
    "numpy.einsum": lambda f: f("ij,j->i", WIDE, DOUBLE),
    "numpy.mask_indices": lambda f: f(3, np.triu),
    "numpy.ravel_multi_index": lambda f: f((np.array([0, 1]), np.array([1, 2])), (2, 3)),
    "numpy.unravel_index": lambda f: f(np.array([1, 5]), (2, 3)),
    "numpy.apply_along_axis": lambda f: f(lambda x: x * 2.0, 0, WIDE),
    "numpy.apply_over_axes": lambda f: f(np.sum, WIDE, [0, 1]),
    "numpy.piecewise": lambda f: f(DOUBLE, [DOUBLE < 0.5], [lambda x: 2.0 * x, 1.0]),
    "numpy.fromfunction": lambda f: f(lambda i, j: i + j, (2, 3)),
    "numpy.take_along_axis": lambda f: f(WIDE, np.array([[0], [2]]), 1),
    "numpy.polyfit": lambda f: f(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 4.0, 9.5]), 2),
    "numpy.unpackbits": lambda f: f(np.array([5, 7], np.uint8)),
    "numpy.insert": lambda f: f(DOUBLE, 1, 2.0),
    "numpy.place": lambda f: f(SINGLE, MASK, np.array([9.0])),
    "numpy.put": lambda f: f(SINGLE, np.array([0, 2]), DOUBLE[:2]),
    "numpy.put_along_axis": lambda f: f(WIDE, np.array([[0], [2]]), 9.0, 1),
    "numpy.vectorize": lambda f: f(lambda x: x + 1.0)(DOUBLE),
    "numpy.frompyfunc": lambda f: f(lambda x, y: x + y, 2, 1)(DOUBLE, 1.0),
    "numpy.linalg.tensorsolve": lambda f: f(SQUARE, DOUBLE),
    "numpy.linalg.tensorinv": lambda f: f(SQUARE, 1),
    "numpy.linalg.matrix_power": lambda f: f(SQUARE, 3),
    "lax.reduce_precision": lambda f: f(DOUBLE, 5, 10),
    "lax.threefry2x32": lambda f: f(*np.arange(4, dtype=np.uint32)),
    "lax.philox4x32": lambda f: f(np.arange(2, dtype=np.uint32), np.arange(4, dtype=np.uint32)),
    "lax.rng_bit_generator": lambda f: f(np.arange(4, dtype=np.uint32), (3,)),
    "lax.convert_element_type": lambda f: f(DOUBLE, np.float32),
    "lax.bitcast_convert_type": lambda f: f(SINGLE, np.int32),
    "lax.broadcast_in_dim": lambda f: f(DOUBLE, (2, 3), (1,)),
    "lax.broadcast": lambda f: f(DOUBLE, (2,)),
    "lax.expand_dims": lambda f: f(DOUBLE, (0,)),
    "lax.reshape": lambda f: f(WIDE, (3, 2)),
    "lax.collapse": lambda f: f(WIDE, 0, 2),
    "lax.transpose": lambda f: f(WIDE, (1, 0)),
    "lax.rev": lambda f: f(WIDE, (0,)),
    "lax.squeeze": lambda f: f(WIDE[None], (0,)),
    "lax.slice": lambda f: f(DOUBLE, (0,), (2,)),
    "lax.slice_in_dim": lambda f: f(DOUBLE, 0, 2),
    "lax.pad": lambda f: f(SINGLE, 0.0, [(1, 1, 0)]),
    "lax.concatenate": lambda f: f([DOUBLE, DOUBLE], 0),
    "lax.split": lambda f: f(DOUBLE, [1, 2]),
    "lax.tile": lambda f: f(DOUBLE, (2,)),
    "lax.iota": lambda f: f(np.float32, 3),
    "lax.broadcasted_iota": lambda f: f(np.int32, (2, 3), 1),
    "lax.argmax": lambda f: f(DOUBLE, 0, np.int32),
    "lax.argmin": lambda f: f(DOUBLE, 0, np.int32),
    "lax.reduce": lambda f: f(SINGLE, np.float32(0), calque.lax.add, (0,)),
    "lax.dot_general": lambda f: f(WIDE, SQUARE, PRODUCT),
    "lax.ragged_dot_general": lambda f: f(WIDE, SQUARE[None], np.array([2]), ROWS_OF_GROUPS),
    "lax.ragged_dot": lambda f: f(WIDE, SQUARE[None], np.array([2])),
    "lax.fft": lambda f: f(COMPLEX, "FFT", (3,)),
    "lax.conv": lambda f: f(IMAGE, KERNEL, (1, 1), "SAME"),
    "lax.conv_general_dilated": lambda f: f(IMAGE, KERNEL, (1, 1), "VALID"),
    "lax.conv_with_general_padding": lambda f: f(IMAGE, KERNEL, (1, 1), "SAME", None, None),
    "lax.conv_transpose": lambda f: f(np.moveaxis(IMAGE, 1, 3), np.ones((2, 2, 2, 3)), (1, 1), "SAME"),
    "lax.conv_general_dilated_patches": lambda f: f(IMAGE, (2, 2), (1, 1), "VALID"),
    "lax.conv_general_dilated_local": lambda f: f(LINES, np.ones((3, 4, 5)), (1,), "VALID", (2,)),
    "lax.conv_dimension_numbers": lambda f: f((1, 2, 4, 4), (3, 2, 2, 2), ("NCHW", "OIHW", "NCHW")),
    "lax.dynamic_slice": lambda f: f(DOUBLE, (1,), (2,)),
    "lax.dynamic_update_slice": lambda f: f(DOUBLE, DOUBLE[:1], (1,)),
    "lax.dynamic_slice_in_dim": lambda f: f(DOUBLE, 1, 2),
    "lax.dynamic_update_slice_in_dim": lambda f: f(DOUBLE, DOUBLE[:1], 1, 0),
    "lax.dynamic_update_index_in_dim": lambda f: f(DOUBLE, 9.0, 1, 0),
    "lax.index_take": lambda f: f(WIDE, (np.array([0, 2]),), (1,)),
    "lax.gather": lambda f: f(SQUARE, np.array([[0], [2]]), FIRST_AXIS, (1, 3)),
    **dict.fromkeys([f"lax.scatter{end}" for end in ("", "_add", "_sub", "_mul", "_min", "_max")], scattered),
    "lax.scatter_apply": lambda f: f(SQUARE, np.array([[0], [2]]), calque.lax.neg, SCATTERED, update_shape=(2, 3)),
    "lax.padtype_to_pads": lambda f: f((4, 4), (2, 2), (1, 1), "SAME"),
    "lax.reduce_window": lambda f: f(SINGLE, -np.inf, calque.lax.max, (2,), (1,), "VALID"),
    "lax.select_and_gather_add": lambda f: f(DOUBLE, DOUBLE, calque.lax.ge_p, (2,), (1,), [(0, 0)]),
    "lax.select_and_scatter_add": lambda f: f(DOUBLE[:2], DOUBLE, calque.lax.ge_p, (2,), (1,), [(0, 0)]),
    "lax.select_and_scatter": lambda f: f(DOUBLE, calque.lax.ge, (2,), (1,), [(0, 0)], DOUBLE[:2], 0.0, calque.lax.add),
    "lax.cond": lambda f: f(True, lambda x: x * 2.0, lambda x: x, SINGLE),
    "lax.switch": lambda f: f(1, [lambda x: x, lambda x: x * 2.0], SINGLE),
    "lax.while_loop": lambda f: f(lambda x: x[0] < 4.0, lambda x: x * 2.0, SINGLE),
    "lax.fori_loop": lambda f: f(0, 3, lambda i, x: x * 2.0, SINGLE),
    "lax.scan": lambda f: f(lambda c, x: (c + x, c), np.float32(0), SINGLE),
    "lax.map": lambda f: f(lambda x: x * 2.0, SINGLE),
    "lax.associative_scan": lambda f: f(calque.lax.add, WIDE),
    "lax.platform_dependent": lambda f: f(SINGLE, default=lambda x: x * 2.0),
    "lax.custom_linear_solve": lambda f: f(lambda x: x * 2.0, SINGLE, lambda _, b: b / 2.0),
    "lax.linear_call": lambda f: f(lambda r, x: r * x, lambda r, ct: r * ct, SINGLE, SINGLE),
    "lax.composite": lambda f: f(lambda x: x * 2.0, "two.times")(SINGLE),
    "lax.linalg.tridiagonal_solve": lambda f: f(DOUBLE, DOUBLE + 2.0, DOUBLE, WIDE.T),
    "lax.linalg.sylvester_solve": lambda f: f(SQUARE, SQUARE, SQUARE),
    "lax.linalg.lu_pivots_to_permutation": lambda f: f(np.array([1, 2, 2], np.int32), 3),
    "lax.linalg.cholesky_update": lambda f: f(np.linalg.cholesky(SQUARE).T, DOUBLE),
    "lax.linalg.householder_product": lambda f: f(SQUARE, DOUBLE),
    "lax.linalg.ormqr": lambda f: f(SQUARE, DOUBLE, SQUARE),
    "nn.glu": lambda f: f(np.ones(4, np.float32)),
    "nn.dot_product_attention": lambda f: f(QUERIES, QUERIES, QUERIES, bias=np.ones((3, 3)), mask=np.eye(3) > 0),
    "nn.initializers.zeros": lambda f: f(KEY, (2, 3), np.float32),
    "nn.initializers.ones": lambda f: f(KEY, (2, 3), np.float32),
    "nn.initializers.variance_scaling": lambda f: f(1.0, "fan_in", "normal")(KEY, (2, 3), np.float32),
    "scipy.special.bessel_jn": lambda f: f(DOUBLE, v=2),
    "scipy.special.hyp2f1": lambda f: f(0.5, 1.5, 2.5, SINGLE),
    "scipy.special.sph_harm_y": lambda f: f(2, 1, DOUBLE, DOUBLE),
    "scipy.linalg.solve_sylvester": lambda f: f(SQUARE, SQUARE, SQUARE),
    "scipy.linalg.lu_solve": lambda f: f(scipy_linalg.lu_factor(SQUARE), DOUBLE),
    "scipy.linalg.cho_solve": factored,
    "scipy.linalg.eigh_tridiagonal": lambda f: f(DOUBLE + 2.0, DOUBLE[:2], eigvals_only=True),
    "scipy.linalg.funm": lambda f: f(SQUARE, np.exp),
    "scipy.linalg.leslie": lambda f: f(DOUBLE, DOUBLE[:2]),
    "scipy.linalg.hadamard": lambda f: f(4),
    "random.clone": lambda f: f(KEY),
    "random.key_data": lambda f: f(KEY),
    "random.key_impl": lambda f: f(KEY),
    "random.key": lambda f: f(3),
    "random.PRNGKey": lambda f: f(3),
    "random.wrap_key_data": lambda f: f(np.uint32([1, 2])),
    "random.randint": lambda f: f(KEY, (3,), 0, 10),
    "random.multivariate_normal": lambda f: f(KEY, DOUBLE, SQUARE),
    "random.multinomial": lambda f: f(KEY, 5, DOUBLE / 1.5),
}
WITHOUT_CALLS = {  # names by module and reason
    ("numpy", "dtypes, files and texts"): (
        "promote_types issubdtype isdtype can_cast save savetxt savez savez_compressed fromfile fromiter fromregex "
        "fromstring genfromtxt load loadtxt frombuffer from_dlpack get_printoptions set_printoptions printoptions "
        "einsum_path __array_namespace_info__ array_repr array_str array2string"
    ),
    ("numpy", "an array in memory that nobody has written"): "empty empty_like",
    ("lax", "an array in memory that nobody has written"): "empty",
    ("lax", "names of types"): "PaddingConfig Precisions DotDimensionNumbers",
    ("lax", "axes with names: the tests of shard_map call them"): (
        "all_gather all_gather_invariant all_to_all pbroadcast ppermute pshuffle psum_scatter pswapaxes psum pmean "
        "pmax pmin pargmax pargmin axis_index axis_size pvary"
    ),
}
EXCLUDED = {f"{module}.{name}" for (module, _), names in WITHOUT_CALLS.items() for name in names.split()}


def is_function(name: str, value: Value) -> bool:
    return callable(value) and not isinstance(value, type) and not name.endswith("_p")


FUNCTIONS: dict[str, Call] = {
    f"{module}.{name}": getattr(members, name)
    for module, members in MODULES.items()
    for name in members.__all__
    if is_function(name, getattr(members, name)) and f"{module}.{name}" not in EXCLUDED
}
