"""The initial values of `calque_numpy.nn.initializers`, under the facade's name."""

from calque_numpy.nn.initializers import *  # noqa: F403  this module gives the same names
from calque_numpy.nn.initializers import __all__  # noqa: F401 - its list of names too
