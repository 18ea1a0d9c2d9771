"""The functions of `calque_numpy.nn`, under the facade's name."""

from calque_numpy.nn import *  # noqa: F403 - this module is the other one's second name
from calque_numpy.nn import __all__
