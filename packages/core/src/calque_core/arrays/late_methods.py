"""The methods of arrays whose modules are imported at the first use of one of them, by module.

One idea: most programs use operators and a few methods, so the class of arrays has a stand-in for each other method,
which imports its module, where the method replaces it.

Read next: `types/array_methods.py`, the stand-in.
"""

from __future__ import annotations

import numpy as np

from calque_core.types.array_methods import late_methods

LATE = {
    "array_namespace": "__array_namespace__",
    "at": "at",
    "devices": "device to_device",
    "indexing": "__getitem__ __iter__ __len__ __setitem__",
    "methods": "T mT real imag conj conjugate reshape transpose flatten sort __round__ __contains__",
    "numpy_moments": "var std",
    "numpy_products": "dot __matmul__ __rmatmul__",
    "numpy_reductions": "sum prod mean max min argmax argmin any all",
    "numpy_shapes": "ravel swapaxes squeeze astype copy clip round",
}
_AT_ONCE = ("shape", "dtype", "ndim", "size", "itemsize", "nbytes")  # in properties.py
_OF_EACH_CLASS = ("item", "tolist")  # tracers have their own errors for these
LATE["missing_methods"] = " ".join(
    name
    for name in dir(np.ndarray)
    if not name.startswith("_") and name not in {*_OF_EACH_CLASS, *_AT_ONCE, *" ".join(LATE.values()).split()}
)

for _module, _names in LATE.items():
    late_methods(f"calque_core.arrays.{_module}", _names)
