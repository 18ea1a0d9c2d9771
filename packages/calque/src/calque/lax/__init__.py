"""The operations of `calque_core.lax`, under the facade's name."""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core.extend import late_names as _late_names
from calque_core.lax import __all__

if _TYPE_CHECKING:
    from calque.lax import linalg
    from calque_core.lax import *  # noqa: F403  this module gives the same names
else:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, {"calque.lax": "linalg", "calque_core.lax": ", ".join(__all__)})
