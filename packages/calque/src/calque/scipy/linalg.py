"""The functions of `calque_numpy.scipy.linalg`, under the facade's name."""

from calque_numpy.scipy.linalg import *  # noqa: F403 - this module is the other one's second name
from calque_numpy.scipy.linalg import __all__  # noqa: F401 - its list of names too
