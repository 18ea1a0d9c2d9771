"""The steps of every transformation around the user's function: flatten, name and check its arguments, and call it.

Read next: `staging/make_jaxpr.py`, the simplest module that imports this one.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index
from types import AsyncGeneratorType, CodeType, CoroutineType, FunctionType, GeneratorType
from typing import Any

import numpy as np

from calque_core.frames.source import describe_function, where
from calque_core.types.avals import (
    ASARRAY,
    _refusal,
    is_array_like,
    is_convertible,
    reference_types,
    short_repr,
    typeof,
)
from calque_pytree import KeyPath, PyTreeDef, SequenceKey, keystr, tree_flatten, tree_flatten_with_path

Value = Any


def check_callable(fun: Any, verb: str) -> None:
    """Check that `fun` is a function that `verb` can transform.

    Raises: TypeError for a value that cannot be called, for generator functions and for coroutines.

    >>> from calque_core.extend import check_callable
    >>> check_callable(len, "grad")
    """
    if type(fun) is FunctionType and not fun.__code__.co_flags & _LATER:  # nearly always; 0.3 us sooner
        return
    if not callable(fun):
        raise TypeError(f"{verb} got {fun!r} of type {type(fun).__name__}{where()}. Give a function.")
    if _runs_later(fun):
        raise TypeError(_generator_message(verb, fun))


def _runs_later(fun: Any) -> bool:
    """Tell whether a call of `fun` only makes an object whose code runs later; `inspect` would take 2 us."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    code = getattr(getattr(fun, "__func__", fun), "__code__", None)
    return isinstance(code, CodeType) and bool(code.co_flags & _LATER)


_LATER = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def _generator_message(verb: str, fun: Any) -> str:
    return (
        f"{verb} of {describe_function(fun)}: a generator or coroutine runs after the transformation has ended. Return "
        "the values, for example as a list, instead of yielding them."
    )


class FlatFunction:
    """A user's function on flat lists, from the leaves of `(args, kwargs)` to the leaves of its result.

    `out_tree` is set by a call; with `has_aux`, `aux` is the second element of the pair the function returned.
    `is_leaf(node)` may declare an inner node of the result a leaf.
    """

    __slots__ = ("aux", "fun", "has_aux", "in_tree", "is_leaf", "out_tree", "verb")

    out_tree: PyTreeDef

    def __init__(
        self,
        fun: Callable[..., Any],
        in_tree: PyTreeDef,
        verb: str,
        has_aux: bool = False,
        is_leaf: Callable[[Any], bool] | None = None,
    ) -> None:
        self.fun, self.in_tree, self.verb, self.has_aux, self.is_leaf = fun, in_tree, verb, has_aux, is_leaf
        self.aux: Any = None

    def __call__(self, *leaves: Value) -> list[Value]:
        args, kwargs = self.in_tree.unflatten(leaves)
        return self.flat_results(call(self.fun, self.verb, *args, **kwargs))

    def flat_results(self, out: Any) -> list[Value]:
        """Return the leaves of the function's result; keep their structure, and the auxiliary output."""
        if self.has_aux:
            out, self.aux = split_aux(out, self.verb, self.fun)
        out_leaves, self.out_tree = tree_flatten(out, self.is_leaf)
        return out_leaves


class FlatPrimals(FlatFunction):
    """A user's function of positional arguments on flat lists; `in_tree` is the structure of the tuple of arguments."""

    __slots__ = ()

    def __call__(self, *leaves: Value) -> list[Value]:
        return self.flat_results(call(self.fun, self.verb, *self.in_tree.unflatten(leaves)))


def call(fun: Callable[..., Any], verb: str, /, *args: Any, **kwargs: Any) -> Any:
    """Call a user's function; refuse a generator, whose body would run after the transformation.

    Raises: TypeError.
    """
    try:
        out = fun(*args, **kwargs)
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:  # no frame of `fun` was entered
            raise TypeError(f"{verb} of {describe_function(fun)}{where()}: {_argument_message(fun, error)}") from error
        raise
    if isinstance(out, (GeneratorType, CoroutineType, AsyncGeneratorType)):
        raise TypeError(_generator_message(verb, fun))
    return out


def _argument_message(fun: Any, error: TypeError) -> str:
    """Return Python's message for arguments that do not fit a function, and the signature of the function."""
    try:
        signature = str(inspect.signature(fun))
    except (TypeError, ValueError):
        return str(error)
    return f"{error}. Call it as {getattr(fun, '__name__', 'the function')}{signature}."


def split_aux(out: Any, verb: str, fun: Any) -> tuple[Any, Any]:
    """Return the output and the auxiliary output of a function that returned `out`, a tuple or a list.

    Raises: TypeError if `out` is not a pair.
    """
    if not (isinstance(out, (tuple, list)) and len(out) == 2):
        raise TypeError(
            f"{verb} of {describe_function(fun)} with has_aux=True needs a pair (output, aux), but the function "
            f"returned {describe_value(out)}. Return a pair, or leave has_aux out."
        )
    return out[0], out[1]


def describe_value(x: Any) -> str:
    """Return 'float64[3]' for an array, 'a tuple of length 2' for a container, and the class's name otherwise.

    A Python scalar has a weak type, with the mark `~`.

    >>> from calque_core.engine import describe_value
    >>> describe_value(1.0), describe_value((1, 2))
    ('~float64[]', 'a tuple of length 2')
    """
    if is_array_like(x):
        return str(typeof(x))
    if isinstance(x, (tuple, list, dict)):
        return f"a {type(x).__name__} of length {len(x)}"
    return "None" if x is None else f"a value of type {type(x).__name__}"


def arg_names(
    fun: Any, args: Sequence[Any], kwargs: dict[str, Any], is_leaf: Callable[[Any], bool] | None = None
) -> list[str]:
    """Return the expression for each leaf of the arguments, as a user writes it: `x`, `params['w']`, `args[1]`.

    `is_leaf(node)` may declare an inner node a leaf.

    >>> from calque_core.engine import arg_names
    >>> arg_names(lambda x, y: None, ({"w": 1.0}, 2.0), {})
    ["x['w']", 'y']
    """
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs)
        parameters = inspect.signature(fun).parameters
        names = [n for n, p in parameters.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        variadic = [n for n, p in parameters.items() if p.kind is p.VAR_POSITIONAL]
        names = [n for n in names if n in bound.arguments and n not in kwargs]
        names += [f"{variadic[0]}[{i}]" for i in range(len(args) - len(names))] if variadic else []
    except (TypeError, ValueError):
        names = []
    names += [f"args[{i}]" for i in range(len(names), len(args))]
    named_trees = [*zip(names, args), *((k, kwargs[k]) for k in sorted(kwargs))]
    return [leaf for name, tree in named_trees for leaf in leaf_names(name, tree, is_leaf)]


def argument_at(fun: Any, args: Sequence[Any], kwargs: dict[str, Any], path: KeyPath) -> str:
    """Return the expression for the value at a path in `(args, kwargs)`, as `arg_names` writes it.

    >>> from calque_core.engine import argument_at
    >>> from calque_pytree import DictKey, SequenceKey
    >>> argument_at(lambda x, y: None, (2.0, {"w": 1.0}), {}, (SequenceKey(0), SequenceKey(1), DictKey("w")))
    "y['w']"
    """
    entry: Any = path[1]
    if path[0] == SequenceKey(1):
        return f"{entry.key}{keystr(path[2:])}"
    return f"{arg_names(fun, args, kwargs, lambda node: True)[entry.idx]}{keystr(path[2:])}"


def leaf_names(name: str, tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[str]:
    """Return the expression for each leaf of a value of the name `name`; `is_leaf(node)` may declare a node a leaf.

    >>> from calque_core.engine import leaf_names
    >>> leaf_names("xs", {"w": 1.0, "b": (2.0, 3.0)})
    ["xs['b'][0]", "xs['b'][1]", "xs['w']"]
    """
    return [f"{name}{keystr(path)}" for path, _ in tree_flatten_with_path(tree, is_leaf)[0]]


_ARRAY_ADVICE = "Pass arrays, close over the value, or register its class as a pytree."


def advice_for(x: Any, otherwise: str) -> str:
    """Return the advice for a reference in the place of an array; `otherwise` for any other value."""
    return "Close over the reference, or use its array: ref[...]." if type(x) in reference_types else otherwise


def check_arrays(
    leaves: Iterable[Any], names: Callable[[], Sequence[str]], caller: str, advice: str = _ARRAY_ADVICE
) -> None:
    """Check that every leaf is an array or a scalar.

    Raises: TypeError that names the argument by its path.

    >>> from calque_core.extend import check_arrays
    >>> check_arrays([1.0, 2], lambda: ["args[0]", "args[1]"], "my_transform")
    """
    for i, leaf in enumerate(leaves):
        if not is_array_like(leaf):
            if isinstance(leaf, (np.ndarray, np.generic)):
                raise TypeError(f"{caller}: {names()[i]}: {_refusal(leaf)}")
            raise TypeError(
                f"{caller}: {names()[i]} is {short_repr(leaf)} of type {type(leaf).__name__}, which is not an array or "
                f"a scalar. {advice_for(leaf, ASARRAY if is_convertible(leaf) else advice)}"
            )


def array_leaves(caller: str, name: str, tree: Any, advice: str = _ARRAY_ADVICE) -> tuple[list[Value], PyTreeDef]:
    """Return the leaves and the structure of a user's value of the name `name`, a pytree of arrays.

    Raises: TypeError that names the first leaf that is not an array or a scalar.

    >>> from calque_core.engine import array_leaves
    >>> array_leaves("scan of f", "xs", (1.0, 2.0))[0]
    [1.0, 2.0]
    """
    leaves, treedef = tree_flatten(tree)
    check_arrays(leaves, lambda: leaf_names(name, tree), caller, advice)
    return leaves, treedef


def plain_index(x: Any) -> int:
    """Return an integer argument as an int.

    Raises: TypeError if it is not an integer, or is a bool: `axis=True` is no position.

    >>> import numpy as np
    >>> from calque_core.calls.api_util import plain_index
    >>> plain_index(np.int64(2))
    2
    """
    if isinstance(x, (bool, np.bool_)):
        raise TypeError(f"{x} is a bool, not an integer.")
    return index(x)


def parameters_of(fun: Any) -> Mapping[str, inspect.Parameter] | None:
    """Return the parameters of a function by name, or None if Python does not know them.

    >>> from calque_core.engine import parameters_of
    >>> list(parameters_of(lambda x, n: x))
    ['x', 'n']
    """
    try:
        return inspect.signature(fun).parameters
    except (TypeError, ValueError):
        return None


# Positions and names of arguments, as a user gives them to a transformation


def tuple_of_ints(caller: str, option: str, argnums: Any) -> tuple[int, ...]:
    """Return `argnums`, an int or a sequence of ints, as a tuple; `option` is the user's parameter for it.

    Raises: TypeError if one is not an int.

    >>> tuple_of_ints("grad of f", "argnums", 1)
    (1,)
    """
    try:
        return tuple(map(plain_index, argnums if isinstance(argnums, (tuple, list, range)) else (argnums,)))
    except TypeError:
        raise TypeError(f"{caller} got {option}={argnums!r}. Give an int or a tuple of ints.") from None


def tuple_of_names(caller: str, option: str, argnames: Any) -> tuple[str, ...]:
    """Return `argnames`, a name, an iterable of names or None, as a tuple; `option` is the user's parameter for it.

    Raises: TypeError if one is not a string.

    >>> tuple_of_names("grad of f", "argnames", "scale")
    ('scale',)
    """
    names = (argnames,) if isinstance(argnames, str) else () if argnames is None else argnames
    if isinstance(names, Iterable):
        names = tuple(names)
        if all(isinstance(name, str) for name in names):
            return names
    raise TypeError(f"{caller} got {option}={argnames!r}. Give a name, or a tuple of names.")


def check_distinct(caller: str, option: str, argnums: Any, positions: Sequence[int]) -> None:
    """Check that the positions that `argnums` stands for are different.  Raises: ValueError."""
    if len(set(positions)) != len(positions):
        raise ValueError(f"{caller} got {option}={argnums!r}, which names an argument twice. Name each argument once.")


def normalize_argnums(argnums: Any, count: int, caller: str, name: str = "argnums") -> tuple[int, ...]:
    """Return `argnums`, an int or a sequence of ints, as positions in `range(count)`, in the same order.

    `name` is the user's parameter for them.

    Raises: TypeError if one is not an int; ValueError if one is out of range or occurs twice.

    >>> from calque_core.engine import normalize_argnums
    >>> normalize_argnums((0, -1), 3, "grad of f")
    (0, 2)
    """
    positions = tuple_of_ints(caller, name, argnums)
    for i in positions:
        if not -count <= i < count:
            raise ValueError(
                f"{caller} got {name}={argnums!r}, but there {'is' if count == 1 else 'are'} {count} positional "
                f"argument{'s' * (count != 1)}. Pass the argument by position, or choose it by "
                f"{name.replace('nums', 'names')}."
            )
    positions = tuple(i % count for i in positions)
    check_distinct(caller, name, argnums, positions)
    return positions


_MAX_DEPTH = 100  # each level compares whole subtrees, and trees may have 100,000 levels


def difference(first: PyTreeDef, second: PyTreeDef) -> str:
    """Return " They differ at ['w']: ...", with the two inner structures; '' at the root, or at a place without a path.

    >>> from calque_core.calls.api_util import difference
    >>> from calque_pytree import structure
    >>> difference(structure({"w": [1, 2], "b": 0}), structure({"w": [1, (2,)], "b": 0}))
    " They differ at ['w'][1]: PyTreeDef(*) and PyTreeDef((*,))."
    """
    one, other, depth, leaves_before = first, second, 0, 0
    while depth < _MAX_DEPTH and _is_same_node(one, other):
        pairs = list(zip(one.children(), other.children()))
        position = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
        if position is None:  # the static data of the roots differs
            break
        leaves_before += sum(child.num_leaves for child, _ in pairs[:position])
        (one, other), depth = pairs[position], depth + 1
    with_leaf = first if one.num_leaves else second
    paths = with_leaf.leaf_paths()
    if not depth or not (one.num_leaves or other.num_leaves) or paths is None:
        return ""
    place = keystr(paths[leaves_before][:depth])
    return f" They differ at {place}: {short_repr(one)} and {short_repr(other)}."


def _is_same_node(one: PyTreeDef, other: PyTreeDef) -> bool:
    """Tell whether two roots have one class, and the same keys or as many children."""
    node, other_node = one.node_data(), other.node_data()
    if node is None or other_node is None or node[0] is not other_node[0]:
        return False
    has_keys = issubclass(node[0], dict)
    return node[1] == other_node[1] if has_keys else len(one.children()) == len(other.children())
