"""The page of NumPy's functions: `python tests/docs/numpy_functions.py` writes it anew.

One idea: a function of NumPy's main namespace exists here, or the table of missing functions has its reason; the page
`docs/numpy_functions.md` shows both, so it cannot promise a function that is not there.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import calque_numpy as cnp
from calque_numpy.missing import DIFFERENT, MISSING

PAGE = Path(__file__).parents[2] / "docs" / "numpy_functions.md"
HEAD = """# Functions of NumPy

Every function of NumPy's main namespace, and of the array API: **done** if `calque_numpy` has it, for traced arrays,
device arrays and NumPy's arrays. The dtypes and shapes are NumPy's.
`python tests/docs/numpy_functions.py` makes this page.

| function | state |
| --- | --- |
"""


def functions_of_numpy() -> list[str]:
    """Return the names of NumPy's functions; classes are no functions."""
    names = (name for name in dir(np) if not name.startswith("_"))
    return [name for name in names if callable(getattr(np, name)) and not isinstance(getattr(np, name), type)]


def state(name: str) -> str:
    """Return the second column."""
    if name in MISSING:
        return f"missing: it {MISSING[name]}"
    return f"done: {DIFFERENT[name]}" if name in DIFFERENT else "done"


def page() -> str:
    """Return the text of the page."""
    ours = [name for name in cnp.__all__ if callable(getattr(cnp, name)) and not isinstance(getattr(cnp, name), type)]
    names = sorted({*functions_of_numpy(), *ours})
    return HEAD + "".join(f"| `{name}` | {state(name)} |\n" for name in names)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
