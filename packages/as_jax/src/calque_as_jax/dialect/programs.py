"""Programs in jax's form: closed ones, open ones, and equations that are read one by one and bound again.

One idea: a closed program is calque's jaxpr.  Its attribute `jaxpr` is an open one, a reading of it without constants,
whose equations have jax's names of parameters.  Functions here turn what a library makes of it back into calque's.

Read next: `attributes.py`, which gives calque's classes the attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import calque_core
from calque_as_jax.values import tree_to_arrays
from calque_core import JaxprEqn, Literal, Var, is_tracer
from calque_core.lax import convert_element_type_p, custom_jvp_call_p, custom_vjp_call_p, jit_p, remat_p

__all__ = [
    "Atom", "ClosedJaxpr", "DebugInfo", "DropVar", "Jaxpr", "JaxprEqn", "JaxprTypeError", "Literal", "Var", "call_p",
    "check_jaxpr", "closed_call_p", "eval_jaxpr", "gensym", "jaxpr_as_fun", "jaxprs_in_params", "new_jaxpr_eqn",
    "no_effects", "subjaxprs", "typecheck_jaxpr",
]  # fmt: skip

Atom = Var | Literal
Value = Any
Params = dict[str, Any]
JaxprTypeError = calque_core.JaxprTypeError
call_p = closed_call_p = jit_p
no_effects: frozenset[Any] = frozenset()

# Primitives whose program jax keeps under another name.
_PROGRAM_NAMES = {custom_jvp_call_p: "call_jaxpr", custom_vjp_call_p: "call_jaxpr"}
# Primitives whose program is open in jax.
_OPEN = frozenset((remat_p,))


class DebugInfo(NamedTuple):
    """What jax keeps of a traced function for its messages."""

    traced_for: str
    func_src_info: str
    arg_names: tuple[str, ...] | None = None
    result_paths: tuple[str, ...] | None = None


class DropVar(Var):
    """A result that is not used; calque's equations have no such variables."""


class _ClosedJaxprType(type):
    """The type of `ClosedJaxpr`: calque's jaxprs, which are closed, are its instances."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, calque_core.Jaxpr)

    def __call__(cls, jaxpr: Any, consts: Sequence[Value] = ()) -> Any:
        program = program_of(jaxpr)
        if len(consts) != len(program.constvars):
            raise ValueError(
                f"ClosedJaxpr got {len(consts)} constants for a program with {len(program.constvars)}. Give one for "
                "each of its constvars."
            )
        return program.replace(consts=consts) if consts else program


class ClosedJaxpr(metaclass=_ClosedJaxprType):
    """A program with the values of its constants: `ClosedJaxpr(jaxpr, consts)` makes one of calque's jaxprs."""


class _JaxprType(type):
    """The type of `Jaxpr`, which is made with jax's arguments."""

    def __call__(
        cls, constvars: Sequence[Var], invars: Sequence[Var], outvars: Sequence[Atom], eqns: Sequence[JaxprEqn],
        effects: Any = None, debug_info: Any = None, is_high: bool = False,
    ) -> Any:  # fmt: skip
        del effects, is_high  # the effects are those of the equations
        types = [v.aval for v in constvars]
        name = debug_info.func_src_info if isinstance(debug_info, DebugInfo) else ""
        ours = list(map(_equation_of_ours, eqns))
        return opened(calque_core.Jaxpr(constvars, invars, ours, outvars, types, debug_name=name))


class Jaxpr(metaclass=_JaxprType):
    """A program without values of its constants; calque's passes over parameters do not open it."""

    __slots__ = ("constvars", "eqns", "invars", "outvars", "program")

    def __init__(self, program: calque_core.Jaxpr) -> None:
        self.program = program
        self.constvars, self.invars = list(program.constvars), list(program.invars)
        same: dict[Atom, Atom] = {}  # results of the equations that are left out, and their operands
        self.eqns = list(_equations_of_jax(program.eqns, same))
        self.outvars = [same.get(v, v) for v in program.outvars]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Jaxpr) and self.program is other.program

    def __hash__(self) -> int:
        return id(self.program)

    @property
    def effects(self) -> Any:
        """The effects of all equations."""
        return self.program.effects

    @property
    def in_avals(self) -> list[Any]:
        """The types of the arguments."""
        return self.program.in_avals

    @property
    def out_avals(self) -> list[Any]:
        """The types of the results."""
        return self.program.out_avals

    @property
    def debug_info(self) -> DebugInfo:
        """The name of the function."""
        return debug_info_of(self.program)

    def replace(self, **fields: Any) -> Jaxpr:
        """Return the program with some fields changed."""
        names = ("constvars", "invars", "outvars", "eqns", "debug_info")
        changed: Jaxpr = Jaxpr(**({name: getattr(self, name) for name in names} | fields))
        return changed

    def pretty_print(self, **options: Any) -> str:
        """Return the program as text."""
        return self.program.pretty_print(**options)

    def __repr__(self) -> str:
        return repr(self.program)


def opened(program: calque_core.Jaxpr) -> Jaxpr:
    """Return the open form of a program.

    Where a constant is traced, types stand in place of the constants, so that a library may keep the program longer.

    >>> from calque_core import make_jaxpr
    >>> opened(make_jaxpr(lambda x: x + 1)(1.0)).eqns
    [JaxprEqn(add, 2 -> 1)]
    """
    if any(map(is_tracer, program.consts)):
        program = program.replace(consts=[v.aval for v in program.constvars])
    form: Jaxpr = type.__call__(Jaxpr, program)
    return form


def program_of(jaxpr: Any) -> calque_core.Jaxpr:
    """Return calque's program of a closed or an open one."""
    return jaxpr.program if type(jaxpr) is Jaxpr else jaxpr


def _equations_of_jax(eqns: Sequence[JaxprEqn], same: dict[Atom, Atom]) -> Iterator[JaxprEqn]:
    """Yield equations in jax's form, without the conversions that make a result weak: types say that in jax."""
    for eqn in eqns:
        invars = [same.get(v, v) for v in eqn.invars]
        if _makes_weak(eqn):
            same[eqn.outvars[0]] = invars[0]
        else:
            yield _with_params_of_jax(eqn if invars == list(eqn.invars) else eqn.replace(invars=invars))


def _makes_weak(eqn: JaxprEqn) -> bool:
    is_conversion = eqn.primitive is convert_element_type_p and eqn.params["weak_type"]
    return is_conversion and eqn.invars[0].aval.dtype == eqn.params["new_dtype"]


def _with_params_of_jax(eqn: JaxprEqn) -> JaxprEqn:
    """Return an equation with jax's parameters."""
    if eqn.primitive in _PROGRAM_NAMES:
        return eqn.replace(params=_renamed(eqn.params, "jaxpr", _PROGRAM_NAMES[eqn.primitive]))
    if eqn.primitive in _OPEN:
        return eqn.replace(params=eqn.params | {"jaxpr": opened(eqn.params["jaxpr"])})
    return eqn


def _equation_of_ours(eqn: JaxprEqn) -> JaxprEqn:
    """Return an equation with calque's parameters."""
    return eqn.replace(params=bind_params(eqn.primitive, eqn.params))


def bind_params(primitive: Any, params: Params) -> Params:
    """Return the parameters with which a primitive is bound, of those of an equation in jax's form."""
    ours = _renamed(params, _PROGRAM_NAMES[primitive], "jaxpr") if primitive in _PROGRAM_NAMES else dict(params)
    return ours | {"jaxpr": program_of(ours["jaxpr"])} if primitive in _OPEN else ours


def _renamed(params: Params, old: str, new: str) -> Params:
    return {new if name == old else name: value for name, value in params.items()}


def bind_with_trace(primitive: Any, trace: Any, args: Sequence[Value], *types_and_params: Any) -> list[Value]:
    """Apply a primitive under a trace.  Types of the operands may stand before the parameters, as in newer versions."""
    return calque_core.hand_down(trace, primitive, args, types_and_params[-1])


def debug_info_of(program: calque_core.Jaxpr) -> DebugInfo:
    """Return what jax keeps of the traced function."""
    return DebugInfo("jit", program.debug_name)


class EquationContext(NamedTuple):
    """The settings under which an equation was traced: none that calque would set again."""

    eqn: JaxprEqn

    @property
    def manager(self) -> Any:
        """A context that changes nothing."""
        return nullcontext()


def eval_jaxpr(jaxpr: Any, consts: Sequence[Value], *args: Value, **_: Any) -> list[Value]:
    """Return the results of a program, by binding its equations in order."""
    results: list[Value] = tree_to_arrays(calque_core.eval_jaxpr(program_of(jaxpr), list(consts), *args))
    return results


def jaxpr_as_fun(jaxpr: Any) -> Callable[..., list[Value]]:
    """Return the function that a closed program computes."""
    return lambda *args: eval_jaxpr(jaxpr, jaxpr.consts, *args)


def check_jaxpr(jaxpr: Any) -> None:
    """Check the types of a program.  Raises: JaxprTypeError."""
    program = program_of(jaxpr)
    invars = (*program.constvars, *program.invars)  # an open program has no constants to check
    calque_core.check_jaxpr(program.replace(constvars=(), consts=(), invars=invars))


typecheck_jaxpr = check_jaxpr


def jaxprs_in_params(params: Params) -> Iterator[Jaxpr]:
    """Yield the programs among the parameters of an equation, as open ones."""
    for value in params.values():
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, calque_core.Jaxpr):
                yield opened(each)
            elif isinstance(each, Jaxpr):
                yield each


def subjaxprs(jaxpr: Any) -> Iterator[Jaxpr]:
    """Yield the programs that the equations of a program hold themselves, as open ones."""
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def new_jaxpr_eqn(
    invars: Sequence[Atom], outvars: Sequence[Var], primitive: Any, params: Params, *_: Any, **__: Any
) -> JaxprEqn:
    """Return an equation; its effects are those of the primitive."""
    return JaxprEqn(primitive, list(invars), list(outvars), params)


def gensym(suffix: str = "") -> Callable[[Any], Var]:
    """Return a function that makes variables of types."""
    del suffix
    return Var
