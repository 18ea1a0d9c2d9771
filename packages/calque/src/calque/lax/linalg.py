"""The operations of `calque_core.lax.linalg`, under the facade's name."""

from calque_core.lax.linalg import *  # noqa: F403 - this module is the other one's second name
from calque_core.lax.linalg import __all__  # noqa: F401 - its list of names too
