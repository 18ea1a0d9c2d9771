"""The operations of `calque_core.lax`, and of the families that are packages of their own, under the facade's name."""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

import calque_core.lax
import calque_signal
import calque_special
from calque_core.extend import late_names as _late_names

if _TYPE_CHECKING:
    from calque.lax import linalg
    from calque_core.lax import *  # noqa: F403  this module gives the same names
    from calque_signal import *  # noqa: F403
    from calque_special import *  # noqa: F403

__all__: list[str] = []
__all__ += calque_core.lax.__all__
__all__ += calque_signal.__all__
__all__ += calque_special.__all__

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(
        __name__,
        {
            "calque.lax": "linalg",
            "calque_core.lax": ", ".join(calque_core.lax.__all__),
            "calque_signal": ", ".join(calque_signal.__all__),
            "calque_special": ", ".join(calque_special.__all__),
        },
    )
