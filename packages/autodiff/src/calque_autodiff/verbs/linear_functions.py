"""Linear functions as values, which `linearize` and `vjp` return.

One idea: a linear function is a program and the numbers that it needs.  The numbers are the leaves of a pytree, so the
function can be returned from `jit`, `vmap` and loops and be passed into them; the program is structure.

Read next: `linearize.py`, which makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, NoReturn

from calque_autodiff.known.tape import Tape
from calque_autodiff.programs.transpose import backward_linear
from calque_autodiff.verbs.checks import fitting_cotangent, only_argument
from calque_core import Jaxpr, ShapedArray, api_boundary, dce_jaxpr, eval_jaxpr, instantiate_zeros
from calque_core.engine import copy_shared, has_tangent, strong, tangent_leaves, zeros_of
from calque_pytree import PyTreeDef, register_pytree_node

Value = Any


Run = Callable[["LinearFunction", tuple[Any, ...], dict[str, Any]], Any]


class LinearProgram:
    """The derivative of a function, `name` in messages: a jaxpr of the numbers it needs, then of tangents.

    There is no jaxpr while a tape takes its place.  Immutable by convention, and compared by identity.
    """

    __slots__ = ("in_avals", "in_tree", "jaxpr", "name", "out_avals", "out_tree", "verb")

    def __init__(
        self,
        verb: str,
        name: str,
        jaxpr: Jaxpr | None,
        in_avals: Sequence[Any],
        in_tree: PyTreeDef,
        out_avals: Sequence[Any],
        out_tree: PyTreeDef,
    ) -> None:
        self.verb, self.name, self.jaxpr = verb, name, jaxpr
        self.in_avals, self.in_tree, self.out_avals, self.out_tree = in_avals, in_tree, out_avals, out_tree

    def with_jaxpr(self, jaxpr: Jaxpr) -> LinearProgram:
        """Return this derivative with a jaxpr."""
        return LinearProgram(self.verb, self.name, jaxpr, self.in_avals, self.in_tree, self.out_avals, self.out_tree)


class LinearFunction:
    """A linear function, forwards or backwards; a pytree whose leaves are the numbers that it needs.

    It runs backwards on the tape that recorded it, if there is one.  Where its numbers or its program are asked for,
    the tape becomes a jaxpr.
    """

    __slots__ = ("__weakref__", "_consts", "_program", "run", "tape")

    def __init__(self, run: Run, program: LinearProgram, consts: Sequence[Value], tape: Tape | None = None) -> None:
        self.run, self._program, self._consts, self.tape = run, program, consts, tape

    @property
    def program(self) -> LinearProgram:
        """The program."""
        self._replace_tape()
        return self._program

    @property
    def consts(self) -> Sequence[Value]:
        """The numbers that the program needs."""
        self._replace_tape()
        return self._consts

    def _replace_tape(self) -> None:
        tape = self.tape
        if tape is not None:
            jaxpr, _ = dce_jaxpr(tape.jaxpr(), [True] * len(tape.outvars), instantiate=True)
            self._program = self._program.with_jaxpr(open_jaxpr(jaxpr))
            self._consts, self.tape = jaxpr.consts, None

    @property
    def name(self) -> str:
        """The name of this function in messages."""
        return self._program.name

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(self, args, kwargs)

    def __repr__(self) -> str:
        program = self._program
        inputs = program.in_tree.show(_types(program.in_avals))
        outputs = program.out_tree.show(_types(program.out_avals))
        types = f"{inputs} -> {outputs}" if self.run is push else f"{outputs} -> {inputs}"
        return f"<{self.name}: {types}>"

    def __copy__(self) -> LinearFunction:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> LinearFunction:
        return LinearFunction(self.run, self.program, deepcopy(self.consts, memo))

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"the {self.name} cannot be pickled: it holds a program. Pickle the primals, and call {self._program.verb} "
            "again after loading."
        )


def _types(avals: Sequence[Any]) -> list[str]:
    return [str(aval.to_tangent_aval().strip_weak_type()) for aval in avals]


register_pytree_node(
    LinearFunction,
    lambda f: (f.consts, (f.run, f.program)),
    lambda data, consts: LinearFunction(data[0], data[1], consts),
)


def open_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """Return a program whose constants are its first arguments."""
    return jaxpr.replace(consts=(), constvars=(), invars=(*jaxpr.constvars, *jaxpr.invars))


def push(f: LinearFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the tangent of the output along one tangent per primal."""
    caller, program = f"the {f.name}", f.program
    assert program.jaxpr is not None
    if kwargs:
        raise TypeError(
            f"{caller} got the keywords {', '.join(kwargs)}. Give the tangents by position, one per primal."
        )
    dots = tangent_leaves(caller, "tangents", program.in_avals, program.in_tree, args)
    perturbed = [instantiate_zeros(t) for t, aval in zip(dots, program.in_avals) if has_tangent(aval)]
    outs = eval_jaxpr(program.jaxpr, (), *f.consts, *perturbed)
    return program.out_tree.unflatten([strong(instantiate_zeros(x)) for x in outs])


def pull(f: LinearFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the cotangents of the primals for a cotangent of the output."""
    program, tape = f._program, f.tape
    caller = f"the {program.name}"
    ct = only_argument(caller, args, kwargs)
    cts = tangent_leaves(caller, "cotangents", program.out_avals, program.out_tree, ct)
    linear: Any = program.jaxpr if tape is None else tape
    consts = f._consts if tape is None else tape.consts
    bars = spread_cotangents(caller, backward_linear(linear, consts, cts), program.in_avals)
    return program.in_tree.unflatten(copy_shared(bars, consts, cts))


def spread_cotangents(caller: str, cts: Sequence[Value], avals: Sequence[Any]) -> list[Value]:
    """Return one cotangent array per primal type: `cts` for floating types, in order, `float0` zeros for other types.

    Raises: TypeError if a cotangent does not have the type of its primal.
    """
    float_cts = iter(cts)
    return [
        (fitting_cotangent(caller, next(float_cts), aval) if aval.kind in "fc" else zeros_of(aval.to_tangent_aval()))
        if type(aval) is ShapedArray
        else _own_cotangent(caller, float_cts, aval)
        for aval in avals
    ]


def _own_cotangent(caller: str, float_cts: Iterator[Value], aval: Any) -> Value:
    tangent_aval = aval.to_tangent_aval()
    return fitting_cotangent(caller, next(float_cts), tangent_aval) if has_tangent(aval) else zeros_of(tangent_aval)
