"""Programs of arrays alone: each variable of an own type is replaced by the variables of its arrays.

One idea: `lower` and `raise` disappear, since a value is its arrays here; a loop, a branch or a call takes more
operands; an author's primitive is replaced by the equations of its decomposition.  A compiler calls this where a
program enters it, and learns of own types nowhere else.

A primitive that holds programs has a rule of kind "lower_values", which gives its parameters for operands that are
arrays: `count(start, stop)` is the number of arrays among its operands from `start` to `stop`.  None for
parameters says that the result is the operand.

Read next: `types/own_types.py`, the types; `inlining.py`, another pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from calque_core.errors import MissingRuleError
from calque_core.frames.source import at_place
from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params, new_jaxpr_eqn
from calque_core.jaxprs.walk import nested_jaxprs, replace_jaxprs
from calque_core.primitives.conversion import convert_element_type_p
from calque_core.primitives.jit import jit_p
from calque_core.primitives.own_values import lower_p, raise_p
from calque_core.primitives.rules import settings_key
from calque_core.staging.stage import stage
from calque_core.types.avals import own_types
from calque_core.types.own_types import is_own
from calque_core.types.type_queries import arrays_of, lower_avals

Value = Any
Atoms = Sequence[Atom]


def has_own_values(jaxpr: Jaxpr) -> bool:
    """Tell whether an argument or a result of a program has an own type.

    >>> from calque_core import make_jaxpr
    >>> from calque_core.engine import has_own_values
    >>> has_own_values(make_jaxpr(lambda x: x)(1.0))
    False
    """
    return bool(own_types) and any(is_own(x.aval) for x in (*jaxpr.invars, *jaxpr.outvars))


def lower_values(jaxpr: Jaxpr) -> Jaxpr:
    """Return a program of arrays alone; the same program, if it has no value of an own type.

    Its arguments and results are the arrays of those of `jaxpr`, in order.
    Raises: MissingRuleError for a primitive on such values without a decomposition.

    >>> from calque_core import make_jaxpr
    >>> from calque_core.engine import lower_values
    >>> program = make_jaxpr(lambda x: x)(1.0)
    >>> lower_values(program) is program
    True
    """
    if not own_types:
        return jaxpr
    return jaxpr.memo(("lower_values", *settings_key()), partial(_lowered, jaxpr))  # type: ignore[no-any-return]


def is_lowerable(jaxpr: Jaxpr) -> bool:
    """Tell whether every primitive of a program that has values of own types can be replaced by those of arrays.

    >>> from calque_core import make_jaxpr
    >>> from calque_core.passes.lower_values import is_lowerable
    >>> is_lowerable(make_jaxpr(lambda x: x)(1.0))
    True
    """
    return all(map(_has_rule, (eqn for inner in nested_jaxprs(jaxpr) for eqn in inner.eqns)))


def _has_rule(eqn: JaxprEqn) -> bool:
    if eqn.primitive in (lower_p, raise_p) or not any(is_own(x.aval) for x in (*eqn.invars, *eqn.outvars)):
        return True
    return any(eqn.primitive.adapted[kind] is not None for kind in ("lower_values", "means", "decomposition"))


def _lowered(jaxpr: Jaxpr) -> Jaxpr:
    programs: dict[int, Jaxpr] = {}
    for inner in nested_jaxprs(jaxpr):  # inner programs first
        programs[id(inner)] = inner if _has_arrays_alone(inner, programs) else _Writer(programs).program(inner)
    return programs[id(jaxpr)]


def _has_arrays_alone(jaxpr: Jaxpr, programs: dict[int, Jaxpr]) -> bool:
    variables = (*jaxpr.constvars, *jaxpr.invars, *(v for eqn in jaxpr.eqns for v in eqn.outvars))
    if any(is_own(v.aval) for v in variables) or any(eqn.primitive is lower_p for eqn in jaxpr.eqns):
        return False
    return all(programs[id(inner)] is inner for eqn in jaxpr.program_eqns for inner in jaxprs_in_params(eqn.params))


class _Writer:
    """The equations of one program while they are written, and the atoms of each variable that is replaced."""

    def __init__(self, programs: dict[int, Jaxpr]) -> None:
        self.programs = programs
        self.eqns: list[JaxprEqn] = []
        self.atoms: dict[Any, Atoms] = {}
        self.constvars: list[Var] = []
        self.consts: list[Value] = []

    def program(self, jaxpr: Jaxpr) -> Jaxpr:
        """Return a whole program."""
        for v, const in zip(jaxpr.constvars, jaxpr.consts):
            self.constvars += self.new(v)
            self.consts += arrays_of(const) if is_own(v.aval) else [const]
        invars = [x for v in jaxpr.invars for x in self.new(v)]
        for eqn in jaxpr.eqns:
            self.write(eqn)
        return jaxpr.replace(
            constvars=self.constvars,
            consts=self.consts,
            invars=invars,
            eqns=self.eqns,
            outvars=[x for v in jaxpr.outvars for x in self.of(v)],
        )

    def new(self, v: Var) -> list[Var]:
        """Return new variables for the arrays of a variable; the variable, if it is an array."""
        if not is_own(v.aval):
            return [v]
        made = [*map(Var, lower_avals(v.aval))]
        self.atoms[v] = made
        return made

    def of(self, x: Atom) -> Atoms:
        """Return the atoms of the arrays of an atom."""
        return [x] if type(x) is Literal else self.atoms.get(x, [x])

    def write(self, eqn: JaxprEqn) -> None:
        """Write an equation as equations of arrays."""
        primitive = eqn.primitive
        operands = [a for x in eqn.invars for a in self.of(x)]
        if primitive is lower_p:
            self.atoms.update((v, [a]) for v, a in zip(eqn.outvars, operands))
        elif primitive is raise_p:
            (v,) = eqn.outvars
            self.atoms[v] = [*map(self.strong, operands, lower_avals(v.aval))]
        elif not any(is_own(x.aval) for x in (*eqn.invars, *eqn.outvars)):
            self.eqns.append(replace_jaxprs(eqn, self.programs).replace(invars=operands))
        else:
            self.write_own(eqn, operands)

    def write_own(self, eqn: JaxprEqn, operands: Atoms) -> None:
        """Write an equation with operands or results of own types."""
        rule, means = eqn.primitive.adapted["lower_values"], eqn.primitive.adapted["means"]
        if rule is not None:
            params = rule(partial(_count, eqn.invars), **replace_jaxprs(eqn, self.programs).params)
            changed = eqn
        elif means is not None:
            program = self.programs[id(means(**eqn.params))]
            params = {"jaxpr": program, "name": eqn.primitive.name, "compiler": None}
            changed = eqn.replace(primitive=jit_p)
        else:
            self.write_decomposed(eqn, operands)
            return
        if params is None:
            (v,) = eqn.outvars
            self.atoms[v] = operands
            return
        outvars = [x for v in eqn.outvars for x in self.new(v)]
        self.eqns.append(changed.replace(invars=operands, outvars=outvars, params=params))

    def write_decomposed(self, eqn: JaxprEqn, operands: Atoms) -> None:
        """Write the equations of the decomposition of an author's primitive."""
        rule = eqn.primitive.adapted["decomposition"]
        if rule is None:
            raise _missing(eqn)
        program = stage(partial(_apply, rule, eqn.params), [x.aval for x in eqn.invars], verb="lower_values")
        program = _lowered(program)
        self.constvars += program.constvars
        self.consts += program.consts
        inner = _Writer({})
        inner.atoms = {v: [a] for v, a in zip(program.invars, operands, strict=True)}
        for inner_eqn in program.eqns:
            self.eqns.append(inner_eqn.replace(invars=[a for x in inner_eqn.invars for a in inner.of(x)]))
        outs = [a for x in program.outvars for a in inner.of(x)]
        remaining = iter(outs)
        for v in eqn.outvars:
            atoms = [self.strong(next(remaining), aval) for aval in lower_avals(v.aval)]
            self.atoms[v] = atoms

    def strong(self, x: Atom, aval: Any) -> Atom:
        """Return an atom as strong as its type in a value of an own type."""
        if x.aval is aval or x.aval.weak_type == aval.weak_type:
            return x
        if type(x) is Literal:
            return Literal(aval.dtype.type(x.val), aval)
        made, params = Var(aval), {"new_dtype": aval.dtype, "weak_type": aval.weak_type}
        self.eqns.append(new_jaxpr_eqn([x], [made], convert_element_type_p, params))
        return made


def _apply(rule: Callable[..., list[Value]], params: dict[str, Any], *args: Value) -> list[Value]:
    return rule(*args, **params)


def _count(invars: Atoms, start: int, stop: int) -> int:
    """Return the number of arrays among operands."""
    return sum(len(lower_avals(x.aval)) for x in invars[start:stop])


def _missing(eqn: JaxprEqn) -> MissingRuleError:
    name = eqn.primitive.name
    aval = next(x.aval for x in (*eqn.invars, *eqn.outvars) if is_own(x.aval))
    advice = (
        f"Define its decomposition, {name}_p.def_rule('decomposition', fn): the same function, written with the arrays "
        "of its operands."
    )
    if eqn.primitive.family.startswith("calque_core."):
        advice = "It takes no values of own types: pass their arrays."
    return MissingRuleError(
        f"'{name}'{at_place(eqn.position)} has an operand or a result of type {aval}, and a compiled program has "
        f"arrays alone. {advice}",
        primitive=name,
        kind="decomposition",
        package="calque-core",
    )
