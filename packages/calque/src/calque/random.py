"""The random numbers of `calque_numpy.random`, under the facade's name."""

from calque_numpy.random import *  # noqa: F403 - this module is the other one's second name
from calque_numpy.random import __all__  # noqa: F401 - its list of names too
