"""The random numbers of `calque_numpy.random`, under the facade's name."""

from calque_core.engine import late_names as _late_names
from calque_numpy.random import __all__

__getattr__, __dir__ = _late_names(__name__, {"calque_numpy.random": ", ".join(__all__)})
