"""The arrays of straight-line code: results in the memory of dead operands, and arrays that nobody has to repeat.

One idea: an elementwise function of NumPy's (a ufunc) repeats axes of size 1 itself, and writes its result to an array
if it gets one.  The types of a program tell where both are possible.  The last operand is still in the processor's
cache, and new memory of large arrays costs more than the arithmetic: three additions of 100,000 numbers, each to the
result before, take 0.09 ms in one array and up to 0.4 ms in three.

Read next: `run.py`, which writes the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var
from calque_core.record import Record

Function = Callable[..., Any]
Shape = tuple[int, ...]


def unchanged(x: Any) -> Any:
    """Return the operand: a view that takes no call."""
    return x


class Repetition(Record):
    """The evaluation of an operation that repeats its operand, `repeat`; `view` is the operand as a ufunc repeats it.

    `shape` is the shape of the view: axes of size 1 stand where axes are repeated, unless they are the first ones.
    """

    repeat: Function
    view: Function
    shape: Shape

    def __call__(self, *args: Any) -> Any:
        return self.repeat(*args)


class Call(Record):
    """The evaluation of one equation: a function of its operands, which may write its result `into` one of them.

    `dead` are the variables that no later equation needs.
    """

    eqn: JaxprEqn
    function: Function
    into: Var | None
    dead: Sequence[Var]


class Calls(Record):
    """The evaluation of a program; nothing outside of it refers to the arrays of the variables `private`."""

    calls: Sequence[Call]
    private: Collection[Var]


def calls_of(program: Jaxpr, private: Collection[Var] = ()) -> Calls:
    """Return the calls of functions that evaluate a program; they may write to the arguments `private`.

    >>> from calque_core import make_jaxpr
    >>> from calque_core.lax import sin
    >>> program = make_jaxpr(lambda x: sin(2.0 * x))(np.ones(3))
    >>> first, second = calls_of(program).calls
    >>> first.into, second.into is program.eqns[0].outvars[0]
    (None, True)
    """
    functions = [_evaluation(eqn) for eqn in program.eqns]
    views = _views(program, functions)
    own, calls = set(private), []
    for eqn, function, dead in zip(program.eqns, functions, _last_uses(program, private)):
        into, is_view = None, not views.keys().isdisjoint(eqn.outvars)
        if not is_view and _makes_array(eqn, function):
            into = next((v for v in dead if v in own and _may_write(eqn, function, v)), None)
            own.add(eqn.outvars[0])
        else:  # the result may be a view of an operand
            own.difference_update(_variables(eqn.invars))
        calls.append(Call(eqn, _chosen(function, is_view), into, dead))
    return Calls(calls, own)


def _evaluation(eqn: JaxprEqn) -> Function:
    return eqn.primitive.impl_for_types([v.aval for v in eqn.invars], eqn.params)  # type: ignore[no-any-return]


def _chosen(function: Function, is_view: bool) -> Function:
    if type(function) is not Repetition:
        return function
    return function.view if is_view else function.repeat


class Addition(Record):
    """A program whose result is added to an array in place: `add(array, *results of operands)`."""

    operands: Jaxpr
    add: Function


def addition_of(program: Jaxpr) -> Addition | None:
    """Return a program with one result as an addition; None if its last operation cannot add to an array.

    >>> from calque_core import make_jaxpr
    >>> from calque_core.lax import pad
    >>> operands, add = addition_of(make_jaxpr(lambda x: pad(2.0 * x, np.float64(0.0), [(1, 0, 0)]))(np.ones(2)))
    >>> operands
    { lambda ; a:f64[2]. let b:f64[2] = mul 2.0 a in (b,) }
    >>> total = np.ones(3)
    >>> add(total, np.array([4.0, 5.0]))
    >>> total
    array([1., 5., 6.])
    """
    if len(program.outvars) != 1 or not program.eqns or [*program.eqns[-1].outvars] != [*program.outvars]:
        return None
    eqn = program.eqns[-1]
    adder = eqn.primitive.adder
    if adder is None or not _is_zero(program, eqn.invars[adder.zero]):
        return None
    add = adder.for_types(*[v.aval for v in eqn.invars], **eqn.params)
    operands = [*eqn.invars[: adder.zero], *eqn.invars[adder.zero + 1 :]]
    return None if add is None else Addition(program.replace(eqns=program.eqns[:-1], outvars=operands), add)


def _is_zero(program: Jaxpr, atom: Atom) -> bool:
    """Tell whether an operand is a zero or an array of zeros."""
    if type(atom) is Literal:
        return bool(atom.val == 0)
    made = next((eqn for eqn in program.eqns if atom in eqn.outvars), None)
    if made is None or type(_evaluation(made)) is not Repetition:
        return False
    return _is_zero(program, made.invars[0])


def _makes_array(eqn: JaxprEqn, function: Function) -> bool:
    """Tell whether the result of an equation is an array that nothing else refers to."""
    is_new = isinstance(function, np.ufunc) or eqn.primitive.makes_arrays
    return is_new and len(eqn.outvars) == 1 and bool(eqn.outvars[0].aval.shape)


def _may_write(eqn: JaxprEqn, function: Function, v: Var) -> bool:
    """Tell whether the result of an equation may be written to the array of `v`, one of its operands."""
    if v not in eqn.invars or _array_type(v) != _array_type(eqn.outvars[0]) or not _is_elementwise(eqn, function):
        return False
    try:
        *_, dtype = function.resolve_dtypes((*[x.aval.dtype for x in eqn.invars], None))  # type: ignore[attr-defined]
    except TypeError:
        return False
    return bool(dtype == v.aval.dtype)  # of another one, such as objects, it would have to be converted


def _is_elementwise(eqn: JaxprEqn, function: Function) -> bool:
    """Tell whether a function is a ufunc of the operands of an equation, with one result."""
    is_ufunc = isinstance(function, np.ufunc) and function.signature is None
    return is_ufunc and (function.nin, function.nout) == (len(eqn.invars), 1)  # type: ignore[attr-defined]


def _array_type(v: Var) -> tuple[Shape, np.dtype[Any]]:
    return v.aval.shape, v.aval.dtype


def _variables(atoms: Sequence[Atom]) -> Iterator[Var]:
    return (v for v in atoms if type(v) is Var)


def _views(program: Jaxpr, functions: Sequence[Function]) -> dict[Var, Shape]:
    """Return the results that nobody has to repeat, since ufuncs with larger operands use them, and their shapes."""
    if Repetition not in map(type, functions):
        return {}
    users: dict[Var, list[int]] = {}
    for i, eqn in enumerate(program.eqns):
        for v in _variables(eqn.invars):
            users.setdefault(v, []).append(i)
    views: dict[Var, Shape] = {}
    for eqn, function in zip(program.eqns, functions):
        if type(function) is Repetition and eqn.outvars[0] not in program.outvars:
            v = eqn.outvars[0]
            shapes = {**views, v: function.shape}
            if all(_repeats(program.eqns[i], functions[i], shapes) for i in users.get(v, ())):
                views = shapes
    return views


def _repeats(eqn: JaxprEqn, function: Function, views: Mapping[Var, Shape]) -> bool:
    """Tell whether a function repeats the axes of size 1 of `views` to the shape of its result."""
    if not _is_elementwise(eqn, function):
        return False
    shapes = [views.get(v, v.aval.shape) if type(v) is Var else v.aval.shape for v in eqn.invars]
    return bool(np.broadcast_shapes(*shapes) == eqn.outvars[0].aval.shape)


def _last_uses(program: Jaxpr, private: Collection[Var]) -> list[list[Var]]:
    """Return, for each equation, the variables that are dead after it.

    The caller has the arguments, but those in `private`, and needs the results.
    """
    kept = {*program.constvars, *program.invars, *_variables(program.outvars)}.difference(private)
    kept.update(_variables(program.outvars))
    last: dict[Var, int] = {}
    for i, eqn in enumerate(program.eqns):
        last.update((v, i) for v in _variables((*eqn.invars, *eqn.outvars)) if v not in kept)
    dead: list[list[Var]] = [[] for _ in program.eqns]
    for v, i in last.items():
        dead[i].append(v)
    return dead
