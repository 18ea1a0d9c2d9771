"""Describes functions and classes in Sphinx's directives: the signature, the docstring, and the members of a class.

One idea: a page holds all that it says, so it is written again exactly if that has changed, and Sphinx imports nothing.
Read next: `reference_pages.py`, which adds the links between pages.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

INDENT = "   "
Translate = Callable[[str], list[str]]  # a docstring as reStructuredText


class Verbatim:
    """A text that stands in a signature as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def described(path: str, value: Any, translate: Translate) -> Iterator[str]:
    """Yield the directive of a function or a class."""
    yield f".. py:{'class' if inspect.isclass(value) else 'function'}:: {path}{signature_text(value)}"
    yield from body(inspect.getdoc(value) or "", translate)
    if is_error(value):
        yield from indented(["", f"**Is a:** {', '.join(f'``{base.__name__}``' for base in value.__bases__)}", ""])
    if inspect.isclass(value):
        for name in members(value):
            yield from indented(described_member(value, name, translate))


def body(docstring: str, translate: Translate) -> Iterator[str]:
    yield ""
    yield from indented(translate(docstring))
    yield ""


def indented(lines: Iterator[str] | list[str]) -> Iterator[str]:
    for line in lines:
        yield INDENT + line if line else ""


def is_error(value: Any) -> bool:
    """Tell whether a value is a class of errors."""
    return inspect.isclass(value) and issubclass(value, BaseException)


# Members of a class


def members(cls: type) -> list[str]:
    """Return the public methods and properties that a class defines and documents."""
    inspect.getmembers(cls)  # the methods of arrays are loaded at their first use
    return [
        name
        for name, member in sorted(vars(cls).items())
        if not name.startswith("_")
        and (callable(member) or isinstance(member, (property, classmethod, staticmethod, functools.cached_property)))
        and inspect.getdoc(getattr(cls, name))
    ]


def described_member(cls: type, name: str, translate: Translate) -> Iterator[str]:
    """Yield the directive of a method or a property."""
    member = inspect.getattr_static(cls, name)
    if isinstance(member, (property, functools.cached_property)):
        yield f".. py:property:: {name}"
    elif isinstance(member, (classmethod, staticmethod)):
        yield f".. py:method:: {name}{signature_text(getattr(cls, name))}"
        yield f"{INDENT}:{type(member).__name__}:"
    else:
        yield f".. py:method:: {name}{signature_text(member, bound=True)}"
    yield from body(inspect.getdoc(getattr(cls, name)) or "", translate)


# Signatures


def signature_text(value: Any, *, bound: bool = False) -> str:
    """Return the parameters with types and defaults, without `self` if `bound`; no text if Python knows none."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # some classes of C
        return ""
    parameters = [shown_parameter(p) for p in list(signature.parameters.values())[bound:]]
    result = signature.return_annotation
    shown_result = signature.empty if result is signature.empty or inspect.isclass(value) else annotation_text(result)
    return str(signature.replace(parameters=parameters, return_annotation=shown_result))


def shown_parameter(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter whose type and default show as they stand in the source."""
    annotation, default = parameter.annotation, parameter.default
    return parameter.replace(
        annotation=annotation if annotation is parameter.empty else annotation_text(annotation),
        default=default if default is parameter.empty else Verbatim(default_text(default)),
    )


def annotation_text(annotation: Any) -> Verbatim:
    return Verbatim(annotation if isinstance(annotation, str) else inspect.formatannotation(annotation))


def default_text(default: Any) -> str:
    """Return a default as an expression: a function and a class by name, three dots for an object without one."""
    text = getattr(default, "__name__", None) if callable(default) else repr(default)
    try:
        ast.parse(text or "...", mode="eval")
    except SyntaxError:
        return "..."
    return text or "..."
