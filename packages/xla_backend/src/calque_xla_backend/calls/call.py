"""One call of a jitted function, and the trace for its types.

Read next: `tracing.py`, which traces; `compiled.py`, which runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from calque_core import Jaxpr
from calque_core.engine import Discharged, Statics, check_distinct_references
from calque_core.extend import describe_function, settings_key
from calque_pytree import PyTreeDef
from calque_xla_backend.calls.static_keys import StaticKeys

Value = Any
Key = tuple[Any, ...]
Arguments = tuple[tuple[Value, ...], dict[str, Value]]


class Call(NamedTuple):
    """A call: its static arguments with their keys, and its dynamic arguments with their leaves."""

    statics: Statics
    static_keys: StaticKeys
    dynamic: Arguments
    leaves: list[Value]
    in_tree: PyTreeDef

    def key(self, types: tuple[Any, ...]) -> Key:
        """Return all that a program depends on, beside the function; `types` are the types of the leaves.

        Its first item is the keys of the static arguments.
        """
        return self.static_keys, self.in_tree.key, types, *settings_key()


class TracedCall(NamedTuple):
    """A traced function: a closed jaxpr, the captured values for its leading arguments, and the structures of a call.

    `in_tree` is the structure of `(args, kwargs)`, with None for static arguments.
    """

    jaxpr: Jaxpr
    captured: Sequence[Value]
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    written: Sequence[int] | None = None  # the operands that are references and written; None without references

    def on(self, leaves: Sequence[Value], fun: Callable[..., Any]) -> Discharged:
        """Return the program with its operands, for arguments `leaves` of `fun`.

        Raises: ValueError if a reference is two operands.
        """
        operands = [*self.captured, *leaves]
        if self.written is None:
            return Discharged((self.jaxpr,), operands, ())
        check_distinct_references(f"jit of {describe_function(fun)}", operands)
        return Discharged((self.jaxpr,), operands, self.written)


def by_position(names: Sequence[str], args: tuple[Value, ...], kwargs: dict[str, Value]) -> Arguments:
    """Return a call with its keyword arguments at their positions, up to the first of `names` that is left out.

    So `f(x, y)`, `f(x, y=y)` and `f(y=y, x=x)` have one trace and one program.
    """
    positional, keywords = list(args), dict(kwargs)
    for name in names[len(args) :]:
        if name not in keywords:
            break
        positional.append(keywords.pop(name))
    return tuple(positional), keywords


def positional_names(fun: Callable[..., Any]) -> Sequence[str]:
    """Return the names of the parameters that a call may pass by position or by name; none if they are not certain.

    They come from the code that runs.  A signature may be that of another function, as of one that `fun` wraps.
    """
    method = fun if isinstance(fun, MethodType) else None
    function = fun if method is None else method.__func__
    if not isinstance(function, FunctionType) or function.__code__.co_posonlyargcount:
        return ()
    return function.__code__.co_varnames[method is not None : function.__code__.co_argcount]
