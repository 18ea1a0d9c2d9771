# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_numpy import trapezoid as trapezoid

__all__ = [
    "trapezoid",
]
