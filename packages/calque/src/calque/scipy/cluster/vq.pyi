# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_numpy.scipy.vq import vq as vq

__all__ = [
    "vq",
]
