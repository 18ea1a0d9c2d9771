"""The operations of `calque_core.lax`, under the facade's name."""

from calque.lax import linalg
from calque_core.lax import *  # noqa: F403 - this module is the other one's second name
from calque_core.lax import __all__
