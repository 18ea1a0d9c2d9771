"""The names of `calque_numpy.scipy.stats`, under the facade's name."""

from calque_core.engine import late_names as _late_names
from calque_numpy.scipy.stats import __all__

__getattr__, __dir__ = _late_names(__name__, {"calque_numpy.scipy.stats": ", ".join(__all__)})
