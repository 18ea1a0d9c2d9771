"""Bad arguments, for the law that refusals stay: by the name of a parameter, and rows of known values.

A function is called with an argument that it takes, and one bad one in the place of the parameter.  NumPy refuses the
known values, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from settings_calls import DOUBLE, MASK, SINGLE, SQUARE, WHOLE, WIDE

Value = Any

WEIGHTS = np.ones(7)
UNSORTED = np.array([1.0, 3.0, 2.0])
_COUNT = (-1, 1.5)
_AXIS = (99, "x")
BAD: dict[str, tuple[Value, ...]] = {
    **dict.fromkeys(["axis", "axes"], (*_AXIS, (0, 0))),
    **dict.fromkeys(["axis1", "axis2", "axisa", "axisb", "source", "destination", "dimension"], (99,)),
    **dict.fromkeys(["n", "size", "num", "num_classes", "repeats", "M", "N", "deg", "pad_width", "reps"], _COUNT),
    **dict.fromkeys(["mode", "norm", "method", "kind", "ord", "indexing", "bitorder", "accuracy"], ("foo",)),
    **dict.fromkeys(["side", "order", "UPLO"], ("Z",)),
    **dict.fromkeys(["shape", "newshape", "s", "dims"], ((-1,), (2.5,))),
    **dict.fromkeys(["ddof", "correction"], ("a",)),
    **dict.fromkeys(["weights", "b", "y", "x2"], (WEIGHTS,)),
    "dtype": ("foo", object),
    "new_dtype": ("foo",),
    "index_dtype": (np.float32,),
    "k": (1.5, "x"),
    "where": (np.array([1, 0, 2]),),
    "decimals": (1.5,),
    "indices": (99, np.array([99]), np.array([0.5])),
    "indices_or_sections": (7, 1.5, -1),
    "obj": (99, 1.5),
    "kth": (99, 1.5),
    "p": (-1.0,),
    "q": (1.5, -0.5, np.array([0.5, -1.0])),
    "bins": (-1, UNSORTED),
    "condition": (np.ones(7, bool),),
    "choices": ([],),
    "shift": (1.5,),
    "offset": (1.5,),
    "v": (-1,),
    "dimensions": ((99,), (0, 0)),
    "period": (0,),
    "scale": ("x",),
    "trans": (7,),
    "type": (7,),
    "num_segments": (-1,),
    "minlength": (-1,),
}
GOOD: dict[str, tuple[Value, ...]] = {  # the arguments that the first function takes that takes any
    "a vector": (DOUBLE,),
    "a matrix": (WIDE,),
    "a square": (SQUARE,),
    "two vectors": (DOUBLE, DOUBLE),
    "two matrices": (SQUARE, SQUARE),
    "integers": (WHOLE,),
    "a number": (3,),
    "beside a number": (SINGLE, 2.0),
    "beside an integer": (DOUBLE, 2),
    "bounds": (SINGLE, 0.25, 0.75),
    "a choice": (MASK, SINGLE, SINGLE),
    "a list": ([SINGLE, SINGLE],),
}
OWN: dict[str, tuple[Value, ...]] = {
    "numpy.take": (DOUBLE, 1), "numpy.repeat": (DOUBLE, 2), "numpy.roll": (DOUBLE, 1), "numpy.tile": (DOUBLE, 2),
    "numpy.reshape": (WIDE, (3, 2)), "numpy.swapaxes": (WIDE, 0, 1), "numpy.moveaxis": (WIDE, 0, 1),
    "numpy.expand_dims": (DOUBLE, 0), "numpy.broadcast_to": (DOUBLE, (2, 3)), "numpy.split": (DOUBLE, 3),
    "numpy.insert": (DOUBLE, 1, 2.0), "numpy.delete": (DOUBLE, 1), "numpy.partition": (DOUBLE, 1),
    "numpy.take_along_axis": (WIDE, np.array([[0], [2]]), 1), "numpy.argpartition": (DOUBLE, 1),
    "numpy.polyfit": (np.arange(4.0), np.arange(4.0) ** 2, 2), "numpy.pad": (DOUBLE, 1), "numpy.rollaxis": (WIDE, 1),
    "numpy.quantile": (DOUBLE, 0.5), "numpy.percentile": (DOUBLE, 50.0), "numpy.nanquantile": (DOUBLE, 0.5),
    "numpy.digitize": (DOUBLE, DOUBLE), "numpy.linalg.matrix_power": (SQUARE, 3), "nn.one_hot": (WHOLE, 4),
    "numpy.interp": (DOUBLE, DOUBLE, DOUBLE), "numpy.resize": (DOUBLE, (2, 2)), "numpy.compress": (MASK, DOUBLE),
    "numpy.array_split": (DOUBLE, 2), "numpy.flip": (WIDE, 0), "numpy.diff": (DOUBLE, 1), "numpy.vander": (DOUBLE, 2),
    "numpy.histogram": (DOUBLE, 4), "lax.reduce_sum": (WIDE, (0,)), "lax.slice_in_dim": (DOUBLE, 0, 2),
    "lax.index_in_dim": (DOUBLE, 0), "lax.top_k": (DOUBLE, 2), "lax.broadcast_in_dim": (DOUBLE, (2, 3), (1,)),
    "lax.transpose": (WIDE, (1, 0)), "lax.rev": (WIDE, (0,)), "lax.reshape": (WIDE, (3, 2)),
    "lax.squeeze": (WIDE[None], (0,)), "lax.expand_dims": (DOUBLE, (0,)), "lax.tile": (DOUBLE, (2,)),
    "lax.split": (DOUBLE, [1, 2]), "lax.cumsum": (DOUBLE, 0), "random.categorical": (np.log(DOUBLE),),
}  # fmt: skip

# Known values, beside a traced operand.
KNOWN: list[tuple[str, tuple[Value, ...], str]] = [
    ("numpy.digitize", (DOUBLE, UNSORTED), "neither increase nor decrease"),
    ("numpy.take", (np.ones(1), True), "index 1 is out of bounds"),
    ("numpy.take", (DOUBLE, np.array([0, 7])), "index 7 is out of bounds"),
    ("numpy.take", (DOUBLE, np.uint8(7)), "index 7 is out of bounds"),
    ("numpy.take_along_axis", (WIDE, np.array([[7]]), 1), "index 7 is out of bounds"),
    ("numpy.take_along_axis", (WIDE, np.array([[True, False]]), 1), "Give integers"),
    ("numpy.sum", (DOUBLE, None, None, None, False, 0, np.array([1, 0, 2])), "a mask holds bools"),
    ("numpy.repeat", (DOUBLE, np.array([1, -1, 2])), ""),
    ("numpy.delete", (DOUBLE, 7), "out of bounds"),
    ("numpy.insert", (DOUBLE, 7, 1.0), "out of bounds"),
    ("numpy.quantile", (DOUBLE, np.array([0.5, -1.0])), "between 0 and 1"),
    ("numpy.percentile", (DOUBLE, 150.0), "between 0 and 100"),
    ("numpy.histogram", (DOUBLE, UNSORTED), "do not increase"),
    ("numpy.histogram_bin_edges", (DOUBLE, UNSORTED), "do not increase"),
    ("numpy.histogram", (DOUBLE, 4, (2.0, 1.0)), "lower end first"),
    ("numpy.average", (WIDE, 0, np.ones(3)), ""),
    ("numpy.cov", (DOUBLE, None, True, False, None, np.array([1.5, 1.0, 1.0])), "Give integers"),
    ("numpy.cov", (DOUBLE, None, True, False, None, np.array([-1, 1, 1])), "is negative"),
    ("numpy.cov", (DOUBLE, None, True, False, None, None, np.array([-1.0, 1.0, 1.0])), "is negative"),
    ("numpy.roll", (WIDE, (1, 2), (0, 5)), ""),
    ("numpy.convolve", (DOUBLE, np.array([])), ""),
    ("numpy.partition", (DOUBLE, 9), "out of bounds"),
    ("numpy.compress", (np.ones(9, bool), DOUBLE), ""),
    ("numpy.diff", (DOUBLE, -1), ""),
    ("numpy.gradient", (DOUBLE, DOUBLE[:2]), ""),
    ("numpy.polyfit", (DOUBLE, DOUBLE, -1), ""),
    ("numpy.polyder", (DOUBLE, -1), ""),
    ("numpy.pad", (DOUBLE, -1), ""),
    ("numpy.pad", (DOUBLE, 1, "foo"), ""),
    ("numpy.linalg.norm", (WIDE, "foo"), ""),
    ("numpy.fft.fft", (DOUBLE, 0), ""),
    ("numpy.fft.fft", (DOUBLE, 3, 5), ""),
    ("lax.broadcast_in_dim", (DOUBLE, (-2, 3), (1,)), ""),
    ("lax.slice", (DOUBLE, (2,), (1,)), ""),
    ("lax.top_k", (DOUBLE, 9), ""),
    ("nn.one_hot", (WHOLE, -1), ""),
]
