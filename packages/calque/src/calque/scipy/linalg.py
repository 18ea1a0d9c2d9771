"""The functions of `calque_numpy.scipy.linalg`, under the facade's name."""

from calque_numpy.scipy.linalg import *  # noqa: F403 - this module is the other one's second name
