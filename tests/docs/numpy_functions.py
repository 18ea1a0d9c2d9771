"""The page of NumPy's functions: `python tests/docs/numpy_functions.py` writes it anew.

One idea: a function of NumPy's main namespace, of `numpy.linalg` and of `numpy.fft` exists here, or the table of
missing functions has its reason; the page `docs/numpy_functions.md` shows both, so it cannot promise a function that is
not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np

import calque_numpy as cnp
from calque_numpy.missing import DIFFERENT, MISSING

PAGE = Path(__file__).parents[2] / "docs" / "numpy_functions.md"
HEAD = """# Functions of NumPy

Every function of NumPy's main namespace, of `numpy.linalg`, `numpy.fft`, and of the array API: **done** if
`calque_numpy` has it, for traced arrays, device arrays and NumPy's arrays. The dtypes and shapes are NumPy's. So
`np.linalg.solve` works in a function that is differentiated, mapped or compiled; `calque.numpy.linalg.solve` is the
same function for programs that write `jnp`. `python tests/docs/numpy_functions.py` makes this page.
"""
MODULES = {"linalg": (np.linalg, cnp.linalg), "fft": (np.fft, cnp.fft)}
TABLE = """
| function | state |
| --- | --- |
"""


def functions_of_numpy() -> list[str]:
    """Return the names of the functions in NumPy's main namespace."""
    return functions_of(np, [name for name in dir(np) if not name.startswith("_")])


def functions_of(module: ModuleType, names: Sequence[str]) -> list[str]:
    """Return the functions among the names of a module, without its classes."""
    return [name for name in names if callable(getattr(module, name)) and not isinstance(getattr(module, name), type)]


def state(name: str) -> str:
    """Return the second column."""
    if name in MISSING:
        return f"missing: it {MISSING[name]}"
    return f"done: {DIFFERENT[name]}" if name in DIFFERENT else "done"


def page() -> str:
    """Return the text of the page."""
    names = sorted({*functions_of_numpy(), *functions_of(cnp, cnp.__all__)})
    return HEAD + table(names) + "".join(section(*modules) for modules in MODULES.items())


def section(name: str, modules: tuple[ModuleType, ModuleType]) -> str:
    """Return the section of a module of NumPy's with a counterpart here."""
    theirs, ours = modules
    names = sorted({*functions_of(theirs, theirs.__all__), *functions_of(ours, ours.__all__)})
    return f"\n## numpy.{name}\n" + table([f"{name}.{function}" for function in names])


def table(names: Sequence[str]) -> str:
    return TABLE + "".join(f"| `{name}` | {state(name)} |\n" for name in names)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
