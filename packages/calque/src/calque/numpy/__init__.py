"""The NumPy functions of `calque_numpy`, under the facade's name."""

from calque_core.engine import late_names as _late_names
from calque_numpy import __all__
from calque_numpy.missing import missing_name as _missing_name

__getattr__, __dir__ = _late_names(
    __name__, {"calque_numpy": ", ".join(__all__), "calque.numpy": "fft, linalg"}, _missing_name(__name__)
)
