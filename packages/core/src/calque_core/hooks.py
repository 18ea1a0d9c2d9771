"""Hooks: where a module calls a function of a module above it.

One idea: imports point down, so a call upwards names the module, and imports it when it is first made: by a program
that stages a function, prints a jaxpr, asks for a check by a setting, or binds an operation in `shard_map`.
There are six hooks; a seventh one is a sign that something sits one layer too high.

Read next: `late.py`, which imports; `printing.py`, `check.py`, `leaks.py` and `debugging.py`, the modules above.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

from calque_core.late import import_at_rest


def add_array_methods() -> None:
    """Import the modules of `arrays`, which give tracers and device arrays their methods."""
    import_at_rest("calque_core.arrays")


@cache
def result_checks() -> list[Callable[..., None]]:
    """Return the checks of each evaluated operation, `check(primitive, args, params, outs)`, which settings turn on."""
    return [_above("jaxprs.debugging", "check_results"), _above("staging.check", "check_evaluation")]


@cache
def close_check() -> Callable[[Any], None]:
    """Return the check of each trace that closes, `check(trace)`, which a setting turns on."""
    return _above("traces.leaks", "check_leaks")


@cache
def program_check() -> Callable[[Any], object]:
    """Return the check of each staged program, `check(jaxpr)`, which a setting turns on."""
    return _above("staging.check", "check_jaxpr")


@cache
def program_printer(form: Literal["text", "html"] = "text") -> Callable[..., str]:
    """Return the function that gives a program as text, `printer(jaxpr, **options)`, or as HTML, `printer(jaxpr)`."""
    return _above("show.web", "html_page") if form == "html" else _above("show.printing", "pretty_print")


@cache
def varying_operands() -> Callable[..., Any]:
    """Return the function that gives the operands of an operation one set of varying axes."""
    return _above("ops.meshes.varying", "varying_operands")


def _above(module: str, name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(import_at_rest(f"calque_core.{module}"), name)
    return function
