"""One call of a function that has rules of its own: its static arguments, its other arguments, its results.

One idea: primitives and traces pass lists; the author of a rule works with the arguments and results of the function.
This module translates, and raises an error that names the rule or the function whose values do not fit.

Read next: `ops/calls/custom_closures.py`, for rules on lists; the package of derivatives translates its own kinds of
rules.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from calque_core.calls.api_util import (
    arg_names,
    array_leaves,
    check_arrays,
    check_callable,
    describe_value,
    normalize_argnums,
    parameters_of,
)
from calque_core.calls.api_util import call as call_function
from calque_core.calls.static_arguments import static_arguments
from calque_core.context import here
from calque_core.frames.names import named_after
from calque_core.frames.source import describe_function, where
from calque_core.frames.tracebacks import hide_frames, mark_boundary
from calque_core.memory.separate import copy_shared_tree, copy_writable
from calque_core.memory.uncopied import Uncopied
from calque_core.ops.calls.custom import custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p
from calque_core.ops.calls.custom_closures import BatchRule, CustomRules
from calque_core.ops.elementwise.convert import narrow
from calque_core.ops.meshes.varying import as_varying
from calque_core.passes.discharge import flatten_arrays
from calque_core.staging.stage import stage
from calque_core.traces.trace import current_trace, evaluation
from calque_core.types.avals import is_array_like, typeof
from calque_core.types.type_queries import leading_size, without_leading_axis
from calque_pytree import PyTreeDef, flatten_axes, tree_flatten, tree_map

P = ParamSpec("P")
R = TypeVar("R")
Value = Any


class Signature:
    """The positions of the static arguments of a function: its rules do not differentiate in them."""

    def __init__(
        self, verb: str, fun: Callable[..., Any], argnums: int | Sequence[int], argnames: str | Iterable[str]
    ) -> None:
        check_callable(fun, verb)
        self.verb, self.fun = verb, fun
        self.name = describe_function(fun)
        self.caller = f"{verb} of {self.name}"
        static = static_arguments(self.caller, fun, argnums, argnames)
        for name in static.names:
            if name not in (parameters_of(fun) or ()):
                raise ValueError(
                    f"{self.caller} got static_argnames={name!r}, which has no position in the arguments of the "
                    "function, and rules take arguments by position. Use static_argnums."
                )
        self.argnums = static.positions  # rules take the static arguments in this order
        self.count = _count(fun)

    def positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return the arguments of a call by position, defaults included, as rules take them.

        A keyword-only argument that the call leaves out keeps its default in the function.
        Raises: TypeError for a keyword-only argument in the call, and for a call that does not fit the function.
        """
        if not kwargs and len(args) == self.count:
            return args
        try:
            bound = inspect.signature(self.fun).bind(*args, **kwargs)
        except ValueError:  # a function without a signature
            bound = None
        except TypeError as error:
            raise TypeError(f"{self.caller}{where()}: {error}. Call it as it is defined.") from None
        if bound is None:
            if kwargs:
                raise TypeError(
                    f"{self.caller} has no signature, so its keyword arguments have no position. Pass them by position."
                )
            return args
        written = {*bound.arguments, *kwargs}
        bound.apply_defaults()
        for name in bound.kwargs:
            if name in written:
                raise TypeError(
                    f"{self.caller}: the keyword-only argument {name!r} has no position, and rules take arguments by "
                    "position. Make it a positional parameter."
                )
        return bound.args

    def static_positions(self, count: int) -> tuple[int, ...]:
        """Return the positions of the static arguments in a call with `count` arguments.

        Raises: ValueError if a call of a function of `*args` has too few.
        """
        return normalize_argnums(self.argnums, count, self.caller, "static_argnums") if self.argnums else ()

    def merged(self, statics: Sequence[Any], differentiated: Sequence[Any]) -> list[Any]:
        """Return all arguments by position."""
        if not statics:
            return list(differentiated)
        count = len(statics) + len(differentiated)
        by_position = dict(zip(self.static_positions(count), statics))
        remaining = iter(differentiated)
        return [by_position[i] if i in by_position else next(remaining) for i in range(count)]

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[CustomCall, list[Value]]:
        """Return the call with these arguments, and the leaves of its differentiated arguments.

        Raises: TypeError if such a leaf is not an array.
        """
        args = self.positional(args, kwargs)
        static = self.static_positions(len(args))
        differentiated = tuple([x for i, x in enumerate(args) if i not in static]) if static else args
        leaves, in_tree = tree_flatten(differentiated)
        is_plain = all(map(is_array_like, leaves))
        if not is_plain:
            leaves, in_tree = flatten_arrays(differentiated)
        call = CustomCall(self, [args[i] for i in static], in_tree)
        if not is_plain:
            check_arrays(leaves, call.arg_names, self.caller, _MAKE_STATIC)
        return call, leaves


def _count(fun: Callable[..., Any]) -> int | None:
    """Return the number of positional arguments of a call, or None if it depends on the call."""
    parameters = parameters_of(fun)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if parameters is None or any(p.kind not in kinds for p in parameters.values()):
        return None
    return len(parameters)


class CustomCall:
    """One call: its static values, and the structure of its differentiated arguments.

    Programs hold it longer than the arguments live.
    """

    __slots__ = ("in_tree", "out_avals", "out_tree", "signature", "statics")

    def __init__(self, signature: Signature, statics: Sequence[Any], in_tree: PyTreeDef) -> None:
        self.signature, self.statics, self.in_tree = signature, statics, in_tree
        self.out_tree: PyTreeDef | None = None
        self.out_avals: list[Any] | None = None

    @property
    def name(self) -> str:
        """The name of the function in messages."""
        return self.signature.name

    def arg_names(self) -> list[str]:
        """Return the name of each leaf of the differentiated arguments, as a user would write it."""
        shape = self.in_tree.unflatten([0] * self.in_tree.num_leaves)
        return arg_names(self.signature.fun, self.signature.merged([()] * len(self.statics), shape), {})

    def fun(self, *leaves: Value) -> list[Value]:
        """Run the function on leaves; return the leaves of its result."""
        args = self.signature.merged(self.statics, self.in_tree.unflatten(leaves))
        return self.outputs(call_function(self.signature.fun, self.signature.verb, *args), self.signature.fun)

    def outputs(self, out: Any, function: Callable[..., Any]) -> list[Value]:
        """Return the leaves of `out`, which the function or one of its rules returned; a rule may have kept an array.

        Raises: TypeError if its structure or types differ from an earlier result, or a leaf is not an array.
        """
        who = self.signature.caller if function is self.signature.fun else self.rule_name("rule", function)
        leaves, tree = array_leaves(who, "output", out, "Return arrays and scalars.")
        self.check_form(tree, [typeof(x).strip_weak_type() for x in leaves], who)
        if function is not self.signature.fun:
            leaves = copy_writable(leaves)
        if not here().varying_axes or self.out_avals is None:
            return leaves
        return [as_varying(x, aval.vma) for x, aval in zip(leaves, self.out_avals)]

    def rule_name(self, kind: str, rule: Callable[..., Any]) -> str:
        """Return the name of a rule of the function in messages."""
        return f"the {kind} {describe_function(rule)} of {self.name}"

    def check_form(self, tree: PyTreeDef, avals: list[Any], who: str) -> None:
        """Store the structure and types of the first result; check that later results have the same."""
        if self.out_tree is None:
            self.out_tree, self.out_avals = tree, avals
        elif tree != self.out_tree:
            raise TypeError(
                f"{who} returned {tree}, but the function returned {self.out_tree}. Return one structure from the "
                "function and its rules."
            )
        elif not all(a is b or _may_become(a, b) for a, b in zip(avals, self.out_avals or ())):
            actual, expected = (", ".join(str(a) for a in types) for types in (avals, self.out_avals or ()))
            raise TypeError(
                f"{who} returned outputs of types ({actual}), but the function returned ({expected}). Return the same "
                "types from the function and its rules."
            )

    def rules(self, functions: Sequence[Any], **rules: Any) -> CustomRules:
        """Return the rules of this call, on lists; `functions` are the user's rules."""
        kept_alive = (self.signature.fun, *functions, *self.statics)
        return CustomRules(name=self.name, key=(*map(id, kept_alive), self.in_tree.key), functions=kept_alive, **rules)

    def bind(self, leaves: Sequence[Value], rules: CustomRules) -> Any:
        """Return the function's result under the current trace, which may use the rules."""
        jvp_or_none = custom_vmap_call_p if rules.jvp is None else custom_jvp_call_p
        primitive = jvp_or_none if rules.fwd is None else custom_vjp_call_p
        outs = current_trace().process_custom_derivative(primitive, self.fun, narrow(leaves), {"rules": rules})
        assert self.out_tree is not None
        return self.out_tree.unflatten(outs)


def _may_become(aval: Any, target: Any) -> bool:
    """Tell whether a value becomes one of the type `target` by varying along more axes of a mesh."""
    return bool(aval.vma <= target.vma) and aval.varying(target.vma) is target


def one_spelling(stem: str, static: Any, nondiff: Any) -> Any:
    """Return the static arguments, which a caller passes under one of two names.

    Raises: TypeError if the caller passes both.

    >>> one_spelling("argnums", 0, ())
    0
    """
    is_passed = [not (isinstance(x, tuple) and not x) for x in (static, nondiff)]
    if all(is_passed):
        raise TypeError(f"static_{stem}={static!r} and nondiff_{stem}={nondiff!r} name one thing twice. Give one.")
    return static if is_passed[0] else nondiff


class CustomFunction(Uncopied, Generic[P, R]):
    """The base of `custom_jvp`, `custom_vjp`, `custom_vmap` and `custom_rules`: a function with its rules."""

    verb = ""
    _in_words, _instead = "a function with rules and without a name", "Decorate a function of a module: @custom_jvp."

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Iterable[str] = (),
        *,
        static_argnums: int | Sequence[int] = (),
        static_argnames: str | Iterable[str] = (),
    ) -> None:
        argnums = one_spelling("argnums", static_argnums, nondiff_argnums)
        argnames = one_spelling("argnames", static_argnames, nondiff_argnames)
        self.signature = Signature(self.verb, fun, argnums, argnames)
        self.fun = fun
        named_after(fun, has_attributes=False)(self)  # `fun` may be one of these, with attributes of the same names

    def rules(self, call: CustomCall) -> CustomRules:
        """Return the rules, on lists, for one call."""
        raise NotImplementedError

    def _without_rule(self, method: str) -> AttributeError:
        """Return the error for a call before `method` has given a rule."""
        return AttributeError(
            f"{self.signature.caller} has no rule. Give one with {method}, or leave {self.signature.verb} out."
        )

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the function's result; transformations around the call use the rules."""
        try:
            if here().trace is evaluation:  # nobody asks for a derivative
                return self._evaluated(args, kwargs)
            call, leaves = self.signature.call(args, kwargs)
            return call.bind(leaves, self.rules(call))  # type: ignore[no-any-return]
        except Exception as error:
            hide_frames(error)
            raise

    def _evaluated(self, args: Any, kwargs: Any) -> R:
        if not here().settings.enable_x64:
            args, kwargs = tree_map(lambda x: narrow([x])[0], (args, kwargs))
        return copy_shared_tree(self.fun(*args, **kwargs), args, kwargs)

    def __repr__(self) -> str:
        return f"<{self.signature.caller}>"

    def __reduce__(self) -> str:
        """Pickle by name, as a function is pickled: its name holds this object, and not the undecorated function."""
        return self.__dict__.get("__qualname__") or super().__reduce__()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind to an instance, as a method does, which makes `self` the first argument."""
        return self if instance is None else functools.partial(self, instance)


mark_boundary(CustomFunction.__call__.__code__)  # a wrapper, as `api_boundary` makes one, takes 0.2 us


def returned_pair(who: str, returned: Any, second: str) -> Sequence[Any]:
    """Return the pair that a rule returned: the output, and `second`.

    Raises: TypeError that names the rule.

    >>> from calque_core.engine import returned_pair
    >>> returned_pair("the rule", (1.0, True), "whether it is batched")
    (1.0, True)
    """
    if not (isinstance(returned, (tuple, list)) and len(returned) == 2):
        raise TypeError(f"{who} returned {describe_value(returned)}. Return a pair: the output, and {second}.")
    return returned


# Rules for batches


def flat_batch(call: CustomCall, rule: Callable[..., Any]) -> BatchRule:
    """Return a user's batching rule as a function of lists.

    `rule(axis_size, in_batched, *args)` returns `(out, out_batched)`; `in_batched` and `out_batched` are pytrees of
    bools, one for each array.
    Raises: TypeError or ValueError, naming rule and function, if the results do not fit those of the function.
    """

    def batch(size: int, is_mapped: Sequence[bool], leaves: Sequence[Value]) -> tuple[list[Value], list[bool]]:
        if call.out_tree is None:  # the function has not run, so its types are not known
            in_avals = [_element(x) if m else typeof(x) for x, m in zip(leaves, is_mapped)]
            stage(call.fun, in_avals, verb="vmap", user_fun=call.signature.fun)
        args = call.signature.merged(call.statics, call.in_tree.unflatten(leaves))
        mapped = call.signature.merged([False] * len(call.statics), call.in_tree.unflatten(is_mapped))
        who = call.rule_name("batching rule", rule)
        returned = call_function(rule, "the batching rule", size, list(mapped), *args)
        out, is_batched = returned_pair(who, returned, "whether it is batched")
        outs, tree = tree_flatten(out)
        try:
            out_batched = flatten_axes("out_batched", tree, is_batched)
        except ValueError as error:
            raise TypeError(f"{who}: {error}") from None
        check_arrays(outs, lambda: [f"output {i}" for i in range(len(outs))], who, "Return arrays and scalars.")
        for x, m in zip(outs, out_batched):
            _check_batch(who, x, m, size)
        avals = [_element(x) if m else typeof(x).strip_weak_type() for x, m in zip(outs, out_batched)]
        call.check_form(tree, avals, f"{who}, for one element,")
        return outs, out_batched

    return batch


def _element(batch: Value) -> Any:
    """Return the type of one element of a batch."""
    aval = typeof(batch).strip_weak_type()
    return without_leading_axis(aval)


def _check_batch(who: str, out: Value, is_batched: Any, size: int) -> None:
    """Check that an output of a batching rule has a batch axis in front if the rule says so.

    Raises: TypeError if `is_batched` is not a bool; ValueError if the first axis does not have the batch's size.
    """
    if not isinstance(is_batched, (bool, np.bool_)):
        raise TypeError(f"{who} returned out_batched={is_batched!r}. Return True or False for each output.")
    if is_batched and leading_size(typeof(out)) != size:
        raise ValueError(
            f"{who} returned {typeof(out)} as a batch of {size}. Put the batch axis, of size {size}, in front, or "
            "return False for an output without a batch axis."
        )


_MAKE_STATIC = (
    "Name it in the static_argnums of custom_jvp, custom_vjp, custom_vmap or custom_rules, close over it, or register "
    "its class as a pytree."
)
