# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_numpy.scipy.rotations import Rotation as Rotation
from calque_numpy.scipy.slerp import Slerp as Slerp

__all__ = [
    "Rotation", "Slerp",
]
