"""Hooks: where a module calls a function of a module above it.

One idea: imports point down, so the function comes down at run time.  The module that defines it appends it to a list
here when it is imported, and `calque_core` imports that module.  Whoever calls it loops over the list, and does nothing
as long as the list is empty.  There are four lists; a fifth one is a sign that something sits one layer too high.

Read next: `debugging.py`, `check.py`, `leaks.py` and `printing.py`, which append to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# `check(primitive, args, params, outs)` on each evaluated operation, while a setting asks for it
result_checks: list[Callable[..., None]] = []
# `check(trace)` on each trace that closes, while a setting asks for it
close_checks: list[Callable[[Any], None]] = []
# `check(jaxpr)` on each staged program, while a setting asks for it
program_checks: list[Callable[[Any], object]] = []
# `printer(jaxpr, **options)` gives the text of a program
program_printers: list[Callable[..., str]] = []
