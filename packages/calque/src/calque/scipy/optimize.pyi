# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque.minimizing import OptimizeResults as OptimizeResults, minimize as minimize

__all__ = [
    "OptimizeResults", "minimize",
]
