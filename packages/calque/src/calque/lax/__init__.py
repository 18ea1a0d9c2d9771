"""The operations of `calque_core.lax`, and of the families that are packages of their own, under the facade's name."""

import calque_signal as _signal
import calque_special as _special
from calque_core import lax as _core
from calque_core.engine import late_names as _late_names

__all__ = _core.__all__ + _signal.__all__ + _special.__all__
_LATE = {module.__name__: ", ".join(module.__all__) for module in (_core, _signal, _special)}
__getattr__, __dir__ = _late_names(__name__, {"calque.lax": "linalg", **_LATE})
