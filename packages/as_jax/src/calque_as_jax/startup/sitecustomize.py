"""Read by a Python whose PYTHONPATH names this folder: installs calque as jax, then runs the next `sitecustomize`."""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

if os.environ.get("CALQUE_AS_JAX") == "1":
    import calque_as_jax  # noqa: F401  # imported for its effect

_here = Path(__file__).parent
_next = PathFinder.find_spec("sitecustomize", [path for path in sys.path if Path(path) != _here])
if _next is not None and _next.loader is not None:
    _next.loader.exec_module(module_from_spec(_next))
