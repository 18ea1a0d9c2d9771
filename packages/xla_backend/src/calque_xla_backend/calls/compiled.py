"""A compiled program beside the arguments that it takes.

One idea: a `CompiledCall` recognises a later call with the types of its first one, and so needs no key.

Read next: `cache.py`, which keeps compiled calls; `dispatch.py`, which runs the program in the fewest steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core.engine import leaf_names, lowered
from calque_pytree import PyTreeDef, tree_structure
from calque_xla_backend.calls.arena import Arenas
from calque_xla_backend.calls.call import Call, TracedCall
from calque_xla_backend.calls.own_leaves import own_leaves
from calque_xla_backend.calls.transfer import Inputs, has_plain_types
from calque_xla_backend.calls.wrapping import generate_wrap
from calque_xla_backend.compile import Program, explain
from calque_xla_backend.modules.bounds import fit
from calque_xla_backend.runtime.array import Array
from calque_xla_backend.runtime.placement import DeviceType
from calque_xla_backend.runtime.runtime import Buffer

Value = Any


class CompiledCall:
    """A program, and the arguments of the calls that it serves.

    `is_direct` says that these are device arrays, all passed by position: then generated code runs the program.  With
    leaves of own types, `own`, the program takes and gives their arrays.
    """

    __slots__ = (
        "bounds",
        "fit",
        "fit_call",
        "handlers",
        "in_tree",
        "inputs",
        "is_direct",
        "is_flat",
        "name",
        "out_types",
        "own",
        "positions",
        "program",
        "run",
        "run_with_token",
        "device_types",
        "static_keys",
        "unflatten",
        "wrap",
    )

    def __init__(self, program: Program, call: Call, traced: TracedCall, positions: Sequence[str]) -> None:
        self.in_tree, self.positions = call.in_tree, positions  # the names of parameters, for messages
        self.program, self.name, self.bounds = program, program.name, program.bounds
        self.run, self.handlers, self.out_types = program.run, program.handlers, program.out_types
        self.run_with_token: Any = program.run_with_token
        self.own = own_leaves(traced.jaxpr)
        leaves = self.arrays(call.leaves)
        is_direct = not (call.static_keys or call.dynamic[1]) and all(type(x) is Array for x in leaves)
        self.is_direct = is_direct and self.own is None
        self.wrap, self.unflatten = generate_wrap(program.out_types), _unflatten_of(traced.out_tree)
        targets = [_as_given(x, target) for x, target in zip(leaves, program.in_types)]
        args_tree = call.in_tree.children()[0]
        self.is_flat = _is_flat(args_tree) and not call.dynamic[1]
        self.device_types = targets
        self.fit, self.fit_call = args_tree.fit, call.in_tree.fit
        # XLA compiles for longer than it takes to make this code, and the second call is then as fast as any other.
        if not self.is_flat:
            (args_tree if self.is_direct else call.in_tree).prepare_fit()
        self.static_keys = call.static_keys
        self.inputs = Inputs(leaves, program) if has_plain_types(leaves, targets) else None

    def arrays(self, leaves: Sequence[Value]) -> Sequence[Value]:
        """Return the arrays of leaves that have the types of the first call.  Raises: as `lowered`."""
        return leaves if self.own is None else [array for x in leaves for array in lowered(x)]

    def call(self, general: Callable[..., Any], args: tuple[Value, ...]) -> Any:
        """Return the result of a call with positional arguments only; `general(args, kwargs)` serves other types."""
        outs = self.attempt((), args, {})
        return general(args, {}) if outs is None else self.result(outs)

    def attempt(self, static_keys: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Sequence[Buffer] | None:
        """Return the results of the program if the arguments have the types of the first call, else None."""
        if self.inputs is None or self.static_keys != static_keys:
            return None
        self.static_keys = static_keys  # the next call is likely to have the same objects, which compare at once
        leaves = self.fit_call((args, kwargs)) if kwargs or not self.is_flat else args
        if self.own is not None and leaves is not None:
            leaves = self.own.arrays(leaves)
        if leaves is None or not self.inputs.fit(leaves):
            return None
        if self.bounds and not fit(self.bounds, leaves):
            return None  # the general path names the argument
        try:
            arenas = self.inputs.arenas
            return self._run(self.inputs, leaves) if arenas is None else self._run_in_arena(self.inputs, arenas, leaves)
        except RuntimeError as error:
            self.explain(error, leaves)
            raise

    def _run(self, inputs: Inputs, leaves: Sequence[Value]) -> Sequence[Buffer] | None:
        """Return the results of the program, or None for an integer that does not fit: the general path names it."""
        try:
            buffers = inputs.buffers(leaves)
        except OverflowError:
            return None
        outs: Sequence[Buffer] = self.run(buffers).consume_with_handlers(self.handlers)
        return outs

    def _run_in_arena(self, inputs: Inputs, arenas: Arenas, leaves: Sequence[Value]) -> Sequence[Buffer] | None:
        """Return as `_run`, with the small leaves in an arena."""
        arena = arenas.take()  # an error loses it, so that nobody writes where a program may read
        try:
            buffers = arena.write(leaves) if inputs.are_small else inputs.buffers_in_arena(leaves, arena)
        except OverflowError:
            return None
        results = self.run_with_token(buffers)
        outs: Sequence[Buffer] = results.consume_with_handlers(self.handlers)
        arenas.give_back(arena, results.consume_token())
        return outs

    def explain(self, error: RuntimeError, leaves: Sequence[Value]) -> None:
        """Say more about an error of the runtime.  Raises: as `compile.explain`."""
        explain(error, self.program, leaves, self.paths)

    def paths(self) -> list[str]:
        """Return the expression for each leaf, as a user writes it: `x`, `params['w']`, `args[1]`."""
        args, kwargs = self.in_tree.unflatten(range(self.in_tree.num_leaves))
        unnamed = [f"args[{i}]" for i in range(len(self.positions), len(args))]
        trees = [*zip((*self.positions, *unnamed), args), *((name, kwargs[name]) for name in sorted(kwargs))]
        paths = [path for name, tree in trees for path in leaf_names(name, tree)]
        return paths if self.own is None else self.own.paths(paths)

    def result(self, outs: Sequence[Buffer]) -> Any:
        """Return the result of the function, with `outs` as the buffers of its arrays."""
        if self.own is not None:
            results = self.own.results(self.wrap(outs))
            return results[0] if self.unflatten is None else self.unflatten(results)
        if self.unflatten is not None:
            return self.unflatten(self.wrap(outs))
        x = Array()
        (x._buffer,), (x._device_type,) = outs, self.out_types
        return x


def _is_flat(tree: PyTreeDef) -> bool:
    """Tell whether `tree` is a tuple of leaves."""
    return tree == tree_structure((0,) * tree.num_leaves)


def _unflatten_of(tree: PyTreeDef) -> Any:
    """Return the function from a list of results to their tree; None for a single result.

    Python makes a tuple of ten in 0.05 us, `unflatten` in 0.2.
    """
    if tree.is_leaf:
        return None
    if _is_flat(tree):
        return tuple
    tree.prepare_unflatten()
    return tree.unflatten


def _as_given(x: Value, target: DeviceType) -> DeviceType:
    """Return the device type of an array that the program takes as it is, and else that of the program's argument."""
    if type(x) is Array and x._device_type.aval is target.aval and x._device_type.canonical is target.canonical:
        return x._device_type
    return target


class NotCompiled:
    """Stands in for a `CompiledCall` before the first call."""

    __slots__ = ()
    is_direct = False

    def call(self, general: Callable[..., Any], args: tuple[Value, ...]) -> Any:
        """Return the result of a call with positional arguments only."""
        return general(args, {})

    def attempt(self, static_keys: Any, args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
        """Return None: there is no program."""


NOT_COMPILED: Any = NotCompiled()
