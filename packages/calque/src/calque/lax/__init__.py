"""The operations of `calque_core.lax`, under the facade's name."""

from calque_core.extend import late_names as _late_names
from calque_core.lax import __all__

__getattr__, __dir__ = _late_names(__name__, {"calque.lax": "linalg", "calque_core.lax": ", ".join(__all__)})
