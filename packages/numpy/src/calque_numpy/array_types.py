"""`ndarray`, the class of all arrays, for annotations and `isinstance`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn  # noqa: TID251  for the alias below

import numpy as np

from calque_core import ArrayMethods


class _AnyArray(type):
    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, (np.ndarray, np.generic, ArrayMethods))


if TYPE_CHECKING:  # a checker learns the operators and methods, and that a device array is one
    ndarray = ArrayMethods
else:

    class ndarray(metaclass=_AnyArray):
        """The class of NumPy's arrays and scalars, of device arrays and of traced arrays.

        It is for annotations and `isinstance`, and has no instances of its own: functions such as `zeros` make arrays.
        Raises: TypeError if it is called.

        >>> import numpy as np
        >>> from calque_core import make_jaxpr
        >>> from calque_numpy import ndarray
        >>> isinstance(np.zeros(3), ndarray), isinstance([0.0], ndarray)
        (True, False)
        >>> _ = make_jaxpr(lambda x: print(isinstance(x, ndarray)))(np.zeros(3))
        True
        """

        def __new__(cls, *_: Any, **__: Any) -> NoReturn:
            raise TypeError(
                "ndarray makes no arrays; it is for annotations and isinstance. Use zeros, array or asarray."
            )
