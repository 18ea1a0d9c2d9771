# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_as_jax.presence import (
    install as install, is_installed as is_installed, subprocess_environment as subprocess_environment,
    uninstall as uninstall,
)
from calque_as_jax.checking import absent_names as absent_names

__version__: str

__all__ = [
    "install", "is_installed", "subprocess_environment", "uninstall", "absent_names",
]
