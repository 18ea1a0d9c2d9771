"""The functions of `calque_numpy.scipy.signal`, under the facade's name."""

from calque_core.engine import late_names as _late_names
from calque_numpy.scipy.signal import __all__

__getattr__, __dir__ = _late_names(__name__, {"calque_numpy.scipy.signal": ", ".join(__all__)})
