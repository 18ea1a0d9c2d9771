"""Programs with references as pure programs: the content of a reference becomes an operand, its last value a result.

One idea: a program reads and writes whole arrays, in order.  So the value of a reference is a variable at each place,
and one pass over the equations knows it: a read is that variable, a write changes it.

The verbs that stage programs of their own, `jit`, branches, loops, `checkpoint` and `shard_map`, call
`discharge_programs` on their programs, bind these on arrays, and write the last values back.

Read next: `ref.py`, the references.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from calque_core.frames.source import at_place
from calque_core.jaxprs.arguments import check_is_jaxpr
from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Var
from calque_core.jaxprs.masks import marked, unmarked
from calque_core.late import late_function
from calque_core.primitives.references import ref_get_p, ref_set_p
from calque_core.record import Record
from calque_core.types.avals import reference_types
from calque_core.types.references import AbstractRef
from calque_pytree import PyTreeDef, register_pytree_node, tree_flatten, tree_map

Value = Any


_with_references = late_function("calque_core.ref", "with_references")
_taking_references = late_function("calque_core.ref", "taking_references")


def taking_references(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of tracers, which passes a tracer of a reference to `fun` as a reference."""
    return _taking_references(fun)  # type: ignore[no-any-return]


def with_references(fun: Callable[..., Any], positions: Sequence[int]) -> Callable[..., Any]:
    """Return a function of arrays, which passes references to its arguments at `positions` to `fun`.

    It returns a pair: the result of `fun`, and the last arrays of the references.
    """
    return _with_references(fun, positions)  # type: ignore[no-any-return]


def is_reference(x: Value) -> bool:
    """Tell whether `x` is a reference."""
    return type(x) in reference_types


def discharge(jaxpr: Jaxpr) -> Jaxpr:
    """Return a program without references: it takes their arrays, and returns their last arrays after its results.

    A reference that the program closes over becomes a leading argument.
    Raises: TypeError for an equation that takes a reference and neither reads nor writes it.

    >>> from calque_core import discharge, make_jaxpr
    >>> from calque_core.ref import new_ref
    >>> def f(ref, x):
    ...     ref[...] = ref[...] * x
    >>> make_jaxpr(f)(new_ref(2.0), 3.0)
    { lambda ; a:Ref{f64[]} b:f64[]. let
        c:f64[] = ref_get a
        d:f64[] = mul c b
        ref_set a d
      in () }
    >>> discharge(make_jaxpr(f)(new_ref(2.0), 3.0))
    { lambda ; a:f64[] b:f64[]. let c:f64[] = mul a b in (c,) }
    """
    check_is_jaxpr("discharge(jaxpr)", jaxpr)
    held = [is_reference(c) for c in jaxpr.consts]
    opened = jaxpr.replace(
        constvars=unmarked(jaxpr.constvars, held),
        consts=unmarked(jaxpr.consts, held),
        invars=(*marked(jaxpr.constvars, held), *jaxpr.invars),
    )
    pure, last = _pure(opened)
    return pure.replace(outvars=(*pure.outvars, *last.values()))


def _pure(jaxpr: Jaxpr) -> tuple[Jaxpr, dict[Var, Atom]]:
    """Return a program of arrays, and the last value of each argument that was a reference."""
    invars = [Var(v.aval.inner_aval) if type(v.aval) is AbstractRef else v for v in jaxpr.invars]
    contents: dict[Any, Atom] = {v: new for v, new in zip(jaxpr.invars, invars) if v is not new}
    values: dict[Any, Atom] = {}
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        operands = [values.get(x, x) if type(x) is Var else x for x in eqn.invars]
        if eqn.primitive is ref_get_p:
            values[eqn.outvars[0]] = contents[operands[0]]
        elif eqn.primitive is ref_set_p:
            contents[operands[0]] = operands[1]
        elif any(x in contents for x in operands if type(x) is Var):
            raise TypeError(_refusal(eqn))
        else:
            eqns.append(eqn.replace(invars=operands))
    outvars = [values.get(x, x) if type(x) is Var else x for x in jaxpr.outvars]
    return jaxpr.replace(invars=invars, eqns=eqns, outvars=outvars), contents


def _refusal(eqn: JaxprEqn) -> str:
    (aval, *_) = [x.aval for x in eqn.invars if type(x.aval) is AbstractRef]
    return (
        f"'{eqn.primitive.name}'{at_place(eqn.position)} takes a reference of type {aval}, which it neither reads nor "
        "writes. Read the reference before, ref[...], and pass the array."
    )


class HeldReference(Record):
    """A node of a pytree without leaves: in its place, `unflatten` gives the reference."""

    reference: Any


register_pytree_node(HeldReference, lambda held: ((), held.reference), lambda reference, _: reference)


def flatten_arrays(tree: Any) -> tuple[list[Value], PyTreeDef]:
    """Return the leaves of a pytree that are no references, and its structure, which holds the references."""
    return tree_flatten(tree_map(lambda x: HeldReference(x) if is_reference(x) else x, tree))


class Discharged(NamedTuple):
    """Pure programs, and their leading operands, some of which are references.

    The leading results are the last values of the references among the operands at the positions `written`.
    """

    programs: Sequence[Jaxpr]
    operands: Sequence[Value]
    written: Sequence[int]

    @property
    def arrays(self) -> Sequence[Value]:
        """The operands, with arrays for references."""
        return [x.read() if is_reference(x) else x for x in self.operands] if reference_types else self.operands

    def results(self, outs: Sequence[Value]) -> Sequence[Value]:
        """Write the last values back, and return the results of the program with references."""
        if not self.written:
            return outs
        for i, x in zip(self.written, outs):
            self.operands[i].write(x)
        return outs[len(self.written) :]


def discharge_programs(programs: Sequence[Jaxpr], operands: Sequence[Value]) -> Discharged:
    """Return programs that begin with the same arguments, `operands`, as programs of arrays.

    All of them return the last value of a reference that one of them writes.
    """
    if not reference_types or not any(map(is_reference, operands)):
        return Discharged(programs, operands, ())
    pure = [_pure(program) for program in programs]
    written = [
        i
        for i, x in enumerate(operands)
        if is_reference(x)
        and any(last[program.invars[i]] is not new.invars[i] for program, (new, last) in zip(programs, pure))
    ]
    discharged = [
        new.replace(outvars=(*(last[program.invars[i]] for i in written), *new.outvars))
        for program, (new, last) in zip(programs, pure)
    ]
    return Discharged(discharged, operands, written)
