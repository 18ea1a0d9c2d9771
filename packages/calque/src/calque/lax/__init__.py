"""The operations of `calque_core.lax`, under the facade's name."""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  no cycle: operations are loaded at their first use

from calque_core.extend import late_names as _late_names
from calque_core.lax import __all__

if _TYPE_CHECKING:
    from calque.lax import linalg
    from calque_core.lax import *  # noqa: F403 - this module is the other one's second name
else:
    __getattr__, __dir__ = _late_names(__name__, {"calque.lax": "linalg", "calque_core.lax": ", ".join(__all__)})
