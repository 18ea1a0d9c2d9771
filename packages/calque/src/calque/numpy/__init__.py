"""The NumPy functions of `calque_numpy`, under the facade's name."""

from calque_numpy import *  # noqa: F403 - this module is the other one's second name
from calque_numpy import __all__
from calque_numpy.missing import missing_name as _missing_name

__getattr__ = _missing_name(__name__, __all__)
