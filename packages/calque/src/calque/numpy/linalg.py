"""The functions of `calque_numpy.linalg`, under the facade's name."""

from calque_core.engine import late_names as _late_names
from calque_numpy.linalg import __all__

__getattr__, __dir__ = _late_names(__name__, {"calque_numpy.linalg": ", ".join(__all__)})
