"""The functions of `calque_numpy.fft`, under the facade's name."""

from calque_numpy.fft import *  # noqa: F403 - this module is the other one's second name
from calque_numpy.fft import __all__  # noqa: F401 - its list of names too
