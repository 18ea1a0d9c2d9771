"""The operations of `calque_core.lax` and of the families, under the facade's name."""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

import calque_signal as _signal
from calque_core import lax as _lax
from calque_core.extend import late_names as _late_names

if _TYPE_CHECKING:
    from calque.lax import linalg
    from calque_core.lax import *  # noqa: F403  this module gives the same names
    from calque_signal import *  # noqa: F403
else:  # a type checker that knew of it would accept every name
    __all__ = _lax.__all__ + _signal.__all__
    __getattr__, __dir__ = _late_names(
        __name__,
        {
            "calque.lax": "linalg",
            "calque_core.lax": ", ".join(_lax.__all__),
            "calque_signal": ", ".join(_signal.__all__),
        },
    )
