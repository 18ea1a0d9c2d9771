"""The results of a function in evaluation: in the dtypes of the settings, and of one class.

One idea: an operation gives these by itself; but a function may also return constants, and its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calque_core.backends import has_backends, on_device_of
from calque_core.context import here
from calque_core.types.dtypes import canonicalize_dtype
from calque_pytree import tree_map

Value = Any


def own_results(args: Sequence[Value], options: Mapping[str, Any], out: Value) -> Value:
    """Return results in 32 bits while `enable_x64` is off, and beside arrays of a backend as arrays of this backend.

    With `device=`, they are where the user says.
    """
    if isinstance(out, (np.ndarray, np.generic, tuple, list)):
        if not here().settings.enable_x64:
            out = tree_map(_narrow, out)
        if has_backends() and options.get("device") is None:
            out = on_device_of(args, out)
    return out


def _narrow(x: Value) -> Value:
    is_number = isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "iufc"
    return x.astype(canonicalize_dtype(x.dtype), copy=False) if is_number else x
