"""NumPy's functions of dtypes: their results are known while tracing, so that Python can branch on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import implements, typeof
from calque_core import result_type as _result_type

Value = Any


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Value) -> np.dtype[Any]:
    """Return the dtype of an operation on these arrays, scalars or dtypes; None is the dtype of a Python float.

    Raises: TypeError for any other argument.

    >>> import numpy as np
    >>> from calque_numpy import result_type
    >>> result_type(np.float32(1), 2.0), result_type(np.int32, np.float32)
    (dtype('float32'), dtype('float64'))
    """
    return _result_type(*(float if x is None else x for x in arrays_and_dtypes))


@implements(np.iscomplexobj)
def iscomplexobj(x: Value) -> bool:
    """Return whether an array has a complex dtype.

    >>> import numpy as np
    >>> from calque_numpy import iscomplexobj
    >>> iscomplexobj(np.zeros(2)), iscomplexobj(1j)
    (False, True)
    """
    return bool(typeof(x).kind == "c")


@implements(np.isrealobj)
def isrealobj(x: Value) -> bool:
    """Return whether an array has a dtype that is not complex.

    >>> import numpy as np
    >>> from calque_numpy import isrealobj
    >>> isrealobj(np.zeros(2)), isrealobj(1j)
    (True, False)
    """
    return not iscomplexobj(x)
