"""Whether `jax` is calque in this process: installing and uninstalling.

One idea: the state is one finder on `sys.meta_path` and the settings that held before; uninstalling removes the finder,
the modules that it made, the attributes of classes and the settings.

Read next: `finder.py`.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

from calque_as_jax import attributes, settings
from calque_as_jax.finder import Finder, is_made_here
from calque_core.extend import late_function

_finder = Finder()
_logger = late_function("logging", "getLogger")
_told: list[str] = []


def is_installed() -> bool:
    """Tell whether `import jax` gives calque in this process.

    >>> from calque_as_jax import is_installed
    >>> is_installed()
    True
    """
    return _finder in sys.meta_path


def install() -> None:
    """Let `import jax` give calque's functions in this process, and set jax's defaults; done by importing the package.

    A jax that is installed and not imported stays hidden; one line of the log, of the logger "calque", says so once.
    Raises: ImportError if jax itself is imported already.

    >>> import calque_as_jax
    >>> calque_as_jax.install()
    >>> import jax
    >>> jax.jit(lambda x: x + 1)(1)
    Array(2, dtype=int32, weak_type=True)
    """
    if is_installed():
        return
    if "jax" in sys.modules:
        origin = getattr(sys.modules["jax"], "__file__", "jax")
        raise ImportError(
            f"calque_as_jax cannot take the name jax: jax itself is imported already, from {origin}. Import "
            "calque_as_jax first, or run the program by `python -m calque_as_jax program.py`.",
            name="jax",
        )
    _tell_of_hidden_jax()
    sys.meta_path.insert(0, _finder)
    attributes.add()
    settings.set_defaults()


def uninstall() -> None:
    """Give the name `jax` back, with the settings that held before: the next `import jax` finds jax, where installed.

    Modules that are imported already, such as optax, keep the functions that they have.

    >>> import calque_as_jax
    >>> calque_as_jax.uninstall()
    >>> calque_as_jax.is_installed()
    False
    >>> calque_as_jax.install()
    """
    if not is_installed():
        return
    sys.meta_path.remove(_finder)
    for name in [name for name, module in sys.modules.items() if is_made_here(module)]:
        del sys.modules[name]
    attributes.remove()
    settings.restore()


def subprocess_environment() -> dict[str, str]:
    r"""Return the variables of this process, and two that make `jax` be calque in a Python that is started with them.

    Without them a new process finds jax itself.  The Python reads a `sitecustomize` module of this package; one of
    your own runs after it.

    >>> import subprocess, sys
    >>> from calque_as_jax import subprocess_environment
    >>> program = "import jax; print(jax.__name__, 'calque_as_jax' in __import__('sys').modules)"
    >>> options = {"env": subprocess_environment(), "text": True}
    >>> subprocess.check_output([sys.executable, "-c", program], **options)
    'jax True\n'
    """
    before = os.environ.get("PYTHONPATH")
    folder = os.path.join(os.path.dirname(__file__), "startup")
    path = os.pathsep.join([folder, *([before] if before else [])])
    return {**os.environ, "PYTHONPATH": path, "CALQUE_AS_JAX": "1"}


def _tell_of_hidden_jax() -> None:
    """Say once that an installed jax is hidden."""
    spec = PathFinder.find_spec("jax")
    if spec is not None and not _told:
        _told.append("hidden")
        _logger("calque").warning(
            "calque_as_jax: `import jax` gives calque in this process; %s is not used.", spec.origin
        )
