"""The operations of `calque_core.lax`, and of the families that are packages of their own, under the facade's name."""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core.extend import late_names as _late_names
from calque_core.lax import __all__ as _core
from calque_signal import __all__ as _signal
from calque_special import __all__ as _special

if _TYPE_CHECKING:
    from calque.lax import linalg
    from calque_core.lax import *  # noqa: F403  this module gives the same names
    from calque_signal import *  # noqa: F403
    from calque_special import *  # noqa: F403
else:  # a type checker that knew of it would accept every name
    _OPERATIONS = {"calque_core.lax": _core, "calque_signal": _signal, "calque_special": _special}
    __all__ = [name for names in _OPERATIONS.values() for name in names]
    _LATE = {package: ", ".join(names) for package, names in _OPERATIONS.items()}
    __getattr__, __dir__ = _late_names(__name__, {"calque.lax": "linalg", **_LATE})
