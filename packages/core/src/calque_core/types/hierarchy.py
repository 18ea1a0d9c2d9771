"""The hierarchy of dtypes: `issubdtype` by NumPy's classes, `isdtype` by the array API's names of kinds.

One idea: short dtypes have places among NumPy's, by their kind.

Read next: `dtypes.py`, the table of short dtypes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.types.dtypes import SHORT_DTYPES, as_dtype, float0, kind_of


def issubdtype(dtype: Any, parent: Any) -> bool:
    """Tell whether `dtype` lies below `parent` in NumPy's type hierarchy, where `SHORT_DTYPES` have places too.

    >>> import numpy as np
    >>> from calque_core import issubdtype
    >>> issubdtype(np.float32, np.floating), issubdtype(np.integer, np.number)
    (True, True)
    """
    if dtype in _ABSTRACT:
        return bool(np.issubdtype(dtype, parent))
    dtype = as_dtype(dtype)
    if dtype == float0:
        return False
    if dtype.name not in SHORT_DTYPES:
        return bool(np.issubdtype(dtype, as_dtype(parent) if isinstance(parent, str) else parent))
    if parent in _ABSTRACT:
        return issubclass(_SHORT_CLASSES[kind_of(dtype)], parent)
    return bool(dtype == as_dtype(parent))


_SHORT_CLASSES = {"i": np.signedinteger, "u": np.unsignedinteger, "f": np.floating}
_ABSTRACT = (
    np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact, np.floating,
    np.complexfloating, np.flexible, np.character,
)  # fmt: skip


def isdtype(dtype: Any, kind: Any) -> bool:
    """Tell whether `dtype` is of a kind: a dtype, one of the names of kinds below, or a tuple of both.

    The names are those of the array API: "bool", "signed integer", "unsigned integer", "integral", "real floating",
    "complex floating" and "numeric".
    Raises: ValueError for another name.

    >>> import numpy as np
    >>> from calque_core import isdtype
    >>> isdtype(np.float32, "real floating"), isdtype(np.int8, ("bool", np.int8)), isdtype(bool, "numeric")
    (True, True, False)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return kind_of(as_dtype(dtype)) in _KINDS[kind]
    try:
        return as_dtype(dtype) == as_dtype(kind)
    except TypeError:
        names = ", ".join(map(repr, _KINDS))
        raise ValueError(f"isdtype got the kind {kind!r}. Give a dtype, one of {names}, or a tuple of them.") from None


_KINDS = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
    "complex floating": "c", "numeric": "iufc",
}  # fmt: skip
