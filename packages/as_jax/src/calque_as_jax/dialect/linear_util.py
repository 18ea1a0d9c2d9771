"""`jax.extend.linear_util` and `jax.api_util`: functions of flat lists, which libraries hand to jax's staging.

One idea: a wrapped function is a callable with its name; a transformation of one is a generator that yields the
arguments, gets the results, and yields the results that leave.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from calque_core import typeof
from calque_pytree import tree_flatten

__all__ = [
    "WrappedFun", "debug_info", "flatten_fun", "flatten_fun_nokwargs", "safe_map", "safe_zip",
    "shaped_abstractify", "transformation", "wrap_init",
]  # fmt: skip

Tree = Any
Function = Callable[..., Any]


class WrappedFun:
    """A function in the form in which jax's internals pass it around: `call_wrapped` calls it."""

    def __init__(self, function: Function, call: Function | None = None) -> None:
        self.f, self.call_wrapped = function, function if call is None else call

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "<unnamed function>")


def wrap_init(function: Function, params: dict[str, Any] | None = None, *, debug_info: Any = None) -> WrappedFun:
    """Return a wrapped function.

    >>> wrap_init(lambda x, y: x + y, {"y": 2}).call_wrapped(1)
    3
    """
    del debug_info
    return WrappedFun(function, partial(function, **params) if params else None)


def transformation(generator: Callable[..., Generator[Any, Any, Any]]) -> Callable[..., WrappedFun]:
    """Return a function that wraps a wrapped function in a generator's two halves.

    >>> @transformation
    ... def doubled(factor, *args):
    ...     outs = yield args, {}
    ...     yield factor * outs
    >>> doubled(wrap_init(lambda x: x + 1), 2).call_wrapped(3)
    8
    """

    def transform(wrapped: WrappedFun, *leading: Any) -> WrappedFun:
        def call(*args: Any, **kwargs: Any) -> Any:
            steps = generator(*leading, *args, **kwargs)
            inner_args, inner_kwargs = next(steps)
            outs = steps.send(wrapped.call_wrapped(*inner_args, **inner_kwargs))
            steps.close()
            return outs

        return WrappedFun(wrapped.f, call)

    return transform


def _flattening(wrapped: WrappedFun, call: Callable[[Any], Tree]) -> tuple[WrappedFun, Callable[[], Any]]:
    """Return a function of leaves, and the function that returns the structure of its last results."""
    trees: list[Any] = []

    def flat(*leaves: Any) -> list[Any]:
        outs, tree = tree_flatten(call(leaves))
        trees[:] = [tree]
        return outs

    return WrappedFun(wrapped.f, flat), lambda: trees[0]


def flatten_fun(wrapped: WrappedFun, in_tree: Any) -> tuple[WrappedFun, Callable[[], Any]]:
    """Return a function of the leaves of `(args, kwargs)`, and a function for the structure of its results."""

    def call(leaves: Any) -> Tree:
        args, kwargs = in_tree.unflatten(leaves)
        return wrapped.call_wrapped(*args, **kwargs)

    return _flattening(wrapped, call)


def flatten_fun_nokwargs(wrapped: WrappedFun, in_tree: Any) -> tuple[WrappedFun, Callable[[], Any]]:
    """Return a function of the leaves of `args`, and a function for the structure of its results."""
    return _flattening(wrapped, lambda leaves: wrapped.call_wrapped(*in_tree.unflatten(leaves)))


def debug_info(*_: Any, **__: Any) -> None:
    """Return nothing: calque finds the names of arguments in the function itself."""


def safe_map(f: Function, *lists: Any) -> list[Any]:
    """Return `f` of the elements of lists of one length.  Raises: ValueError for two lengths."""
    return [f(*each) for each in zip(*map(list, lists), strict=True)]


def safe_zip(*lists: Any) -> list[tuple[Any, ...]]:
    """Return the tuples of elements of lists of one length.  Raises: ValueError for two lengths."""
    return list(zip(*map(list, lists), strict=True))


def shaped_abstractify(x: Any) -> Any:
    """Return the type of a value."""
    return typeof(x)
