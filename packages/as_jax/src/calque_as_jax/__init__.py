"""Programs written for jax, run on calque: importing this package makes `import jax` give calque's functions.

    import calque_as_jax  # before the first `import jax`

It also sets jax's defaults for the whole process, 32 bits above all; `uninstall()` takes both back.  No other package
of calque imports this one.

Read next: `names.py`, the table of jax's names; `finder.py`, which makes the modules; `values.py`, the arrays.
"""

from calque_as_jax import presence as _presence
from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "the name jax": {"calque_as_jax.presence": "install, is_installed, subprocess_environment, uninstall"},
    "before a program runs": {"calque_as_jax.checking": "absent_names"},
}

_register_internal_folder(__path__[0])

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)

_presence.install()
