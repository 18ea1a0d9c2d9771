"""The operations of `calque_linalg`, under the facade's name."""

from calque_linalg import *  # noqa: F403  this module gives the same names
from calque_linalg import __all__  # noqa: F401 - its list of names too
