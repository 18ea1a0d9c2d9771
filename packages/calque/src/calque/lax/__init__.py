"""The operations of `calque_core.lax`, and of the families that are packages of their own, under the facade's name."""

from calque_core.engine import late_names as _late_names
from calque_core.lax import __all__ as _core
from calque_signal import __all__ as _signal
from calque_special import __all__ as _special

_OPERATIONS = {"calque_core.lax": _core, "calque_signal": _signal, "calque_special": _special}
_LATE = {package: ", ".join(names) for package, names in _OPERATIONS.items()}
__all__ = [name for names in _OPERATIONS.values() for name in names]
__getattr__, __dir__ = _late_names(__name__, {"calque.lax": "linalg", **_LATE})
