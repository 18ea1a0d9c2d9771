"""The functions of `calque_numpy.scipy.special`, under the facade's name."""

from calque_numpy.scipy.special import *  # noqa: F403 - this module is the other one's second name
from calque_numpy.scipy.special import __all__  # noqa: F401 - its list of names too
