"""The functions of `calque_numpy.fft`, under the facade's name."""

from calque_core.engine import late_names as _late_names
from calque_numpy.fft import __all__

__getattr__, __dir__ = _late_names(__name__, {"calque_numpy.fft": ", ".join(__all__)})
