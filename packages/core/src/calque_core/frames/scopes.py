"""Named scopes: names for parts of a program, which its operations carry into jaxprs and compiled programs.

One idea: a scope is a name in the context of the task, and an operation's position holds the names that are open where
the operation is recorded.  Derivatives and batches of the operation are computed at its position, so they keep the
names; without an open scope a position is as small as before.

Read next: `source.py` for positions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from calque_core.context import entered, scopes_of
from calque_core.frames.names import name_of, named_after
from calque_core.frames.source import Position, where

P = ParamSpec("P")
R = TypeVar("R")


class named_scope(entered):
    """Name the operations of a `with` block, or of each call of a function that is decorated with it.

    Scopes nest: an operation in `layer`, and there in `attention`, has the name stack `layer/attention`.  A jaxpr shows
    it with `pretty_print(name_stack=True)`; in a compiled program it is part of the `op_name` of each operation, which
    profilers show.  Operations of a derivative or a batch have the names of the operations that they come from, and
    the names stand in `transpose(...)` in the backward pass.
    Raises: TypeError if `name` is not a string; ValueError if it is empty.

    >>> from calque_core import lax, make_jaxpr, named_scope
    >>> @named_scope("layer")
    ... def layer(x):
    ...     with named_scope("activation"):
    ...         return lax.tanh(x)
    >>> make_jaxpr(layer)(1.0).eqns[0].source_info.name_stack
    'layer/activation'
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"named_scope{where()} got {name!r} of type {type(name).__name__}. Give a string.")
        if not name:
            raise ValueError(f"named_scope{where()} got an empty name. Give a name, such as 'layer'.")
        super().__init__()
        self.name = name

    def __enter__(self) -> None:
        super().__enter__()
        inner: Any = self.inner
        if inner.source is None:
            inner.scopes = (*inner.scopes, self.name)
        else:  # the rule of an interpreted equation opens a scope: it lies inside the scopes of the equation
            inner.source = _with_scopes(inner.source, (*scopes_of(inner.source), self.name))

    def __call__(self, fun: Callable[P, R]) -> Callable[P, R]:
        """Return `fun` with this scope around each call."""
        name = self.name

        @named_after(fun)
        def fun_in_scope(*args: P.args, **kwargs: P.kwargs) -> R:
            with named_scope(name):
                return fun(*args, **kwargs)

        return fun_in_scope


def within_scopes(position: Position | None, scopes: tuple[str, ...]) -> Position | None:
    """Return the position of an equation, seen from the program that runs it inside `scopes`."""
    return position if position is None else _with_scopes(position, (*scopes, *scopes_of(position)))


def _with_scopes(position: Position, scopes: tuple[str, ...]) -> Position:
    return type(position)((*position[:2], scopes))  # a position of the backward pass stays one


def named_call(fun: Callable[P, R], *, name: str | None = None) -> Callable[P, R]:
    """Return `fun` with a scope around each call: its own name, or `name`.

    Raises: TypeError if `fun` is not callable or `name` not a string; ValueError if it is empty.

    >>> from calque_core import lax, make_jaxpr, named_call
    >>> make_jaxpr(named_call(lax.sin))(1.0).eqns[0].source_info.name_stack
    'sin'
    """
    if not callable(fun):
        raise TypeError(f"named_call{where()} got {fun!r} of type {type(fun).__name__}. Give a function.")
    return named_scope(name_of(fun) if name is None else name)(fun)
