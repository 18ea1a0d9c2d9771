"""The operations of `calque_core.lax.linalg`, under the facade's name."""

from calque_core.lax.linalg import *  # noqa: F403  this module gives the same names
from calque_core.lax.linalg import __all__  # noqa: F401 - its list of names too
