"""Operations as straight-line code, for transformations of values that are known.

One idea: a rule gives the same operations whenever its operands have the same types.  So a transformation traces the
rule once per types, and turns the program into a Python function that calls the implementations of the primitives one
after the other.

Only primitives are taken whose implementations are leaves: such primitives promise that their rules depend on types and
parameters alone.

Read next: `buffers.py`, which decides where results are written; `table.py`, which remembers such functions;
`known/operation.py` of autodiff and `known.py` of batching, which make them from rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var
from calque_core.known.buffers import addition_of, calls_of, unchanged
from calque_core.primitives.primitive import Primitive
from calque_core.record import Record

Value = Any


def is_straight(program: Jaxpr) -> bool:
    """Tell whether the evaluation of each equation is one call of a function that binds nothing.

    Such a function computes with Python scalars in 64 bits.  So where they count as 32 bits, an operation without a
    strong operand of their dtype is left to evaluation.

    >>> from calque_core import make_jaxpr
    >>> from calque_core.engine import is_straight
    >>> is_straight(make_jaxpr(lambda x: 2.0 * x)(1.0))
    True
    """
    return all(eqn.primitive.is_leaf and not has_narrow_scalars(eqn) for eqn in program.eqns)


def has_narrow_scalars(eqn: JaxprEqn) -> bool:
    """Tell whether some operands of an equation are weak, of 32 bits, and no strong operand has their dtype."""
    dtypes: tuple[set[Any], set[Any]] = set(), set()
    for x in eqn.invars:
        dtypes[getattr(x.aval, "weak_type", False)].add(getattr(x.aval, "dtype", None))
    strong, weak = dtypes
    return not (weak - strong).isdisjoint(_NARROW)


_NARROW = frozenset(map(np.dtype, (np.int32, np.float32, np.complex64)))


class StraightLine:
    """The text of a function, made of templates and numbers; functions and constants are bound by name.

    >>> from calque_core import make_jaxpr
    >>> from calque_core.engine import StraightLine
    >>> program, code = make_jaxpr(lambda x: 2.0 * x)(1.0), StraightLine()
    >>> arguments = code.arguments(program.invars)
    >>> code.function(arguments, *code.results(program))(3.0)
    6.0
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[Any, str] = {}
        self._num_names = 0  # in order of appearance: equal programs have equal texts
        self.constants: dict[str, Value] = {}
        self.private: set[Var] = set()

    def arguments(self, variables: Sequence[Var]) -> list[str]:
        """Name the arguments of a program."""
        return list(map(self._variable, variables))

    def results(self, program: Jaxpr, private: Collection[Var] = ()) -> list[str]:
        """Append a line per equation of a program, and one that drops dead values; return the program's results.

        The lines may write to the arguments `private`.  The attribute `private` has them, and all variables of arrays
        that nothing else refers to.
        """
        for v, const in zip(program.constvars, program.consts):
            self.names[v] = self.constant(const)
        calls, own = calls_of(program, private)
        self.private.update(own)
        named_twice: set[Atom] = set()  # arrays with two variables, which no line drops
        joint = _joint_evaluations(program)
        for eqn, function, into, dead in calls:
            operands = list(map(self.name, eqn.invars))
            if eqn.outvars[0] in joint:
                self._evaluate_jointly(joint[eqn.outvars[0]], operands)
                self._drop(v for v in dead if v not in named_twice)
                continue
            if function is unchanged:
                self.names[eqn.outvars[0]] = operands[0]
                named_twice.update((eqn.invars[0], eqn.outvars[0]))
                continue
            if function in _ON_ARRAYS and _is_of_doubles(eqn):
                operands = [self._constant_array(x) if type(x) is Literal else self.name(x) for x in eqn.invars]
            if into is not None:
                operands.append(f"out={self.name(into)}" if function in _BY_KEYWORD else self.name(into))
            names = list(map(self._variable, eqn.outvars))
            target = f"({', '.join(names)},)" if eqn.primitive.multiple_results else names[0]
            self.lines.append(f"{target} = {self.constant(function)}({', '.join(operands)})")
            self._drop(v for v in dead if v not in named_twice)
        return [self.name(v) for v in program.outvars]

    def _constant_array(self, literal: Literal) -> str:
        return self.constant(np.array(literal.val, np.float64))

    def _drop(self, variables: Iterable[Var]) -> None:
        names = [self.names[v] for v in variables]
        if names:
            self.lines.append(f"del {', '.join(names)}")

    def _evaluate_jointly(self, joint: _Joint, operands: Sequence[str]) -> None:
        """Append the evaluation of two equations, at the place of the first."""
        if joint.outs[0] not in self.names:
            names = list(map(self._variable, joint.outs))
            self.lines.append(f"{', '.join(names)} = {self.constant(joint.function)}({', '.join(operands)})")

    def adds(self, program: Jaxpr, total: str) -> bool:
        """Append lines that add the result of a program to the array named `total`; return False if there are none."""
        addition = addition_of(program)
        if addition is not None:
            operands = [total, *self.results(addition.operands)]
            self.lines.append(f"{self.constant(addition.add)}({', '.join(operands)})")
        return addition is not None

    def _variable(self, v: Var) -> str:
        """Return the name of a variable of the text, a new one for a variable without a name."""
        if v not in self.names:
            self.names[v] = f"x{self._num_names}"
            self._num_names += 1
        return self.names[v]

    def name(self, atom: Atom) -> str:
        """Return the name of an operand."""
        return self.constant(atom.val) if isinstance(atom, Literal) else self.names[atom]

    def constant(self, value: Value) -> str:
        """Return the name of a bound value."""
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name

    def function(self, arguments: Sequence[str], results: str) -> Callable[..., Any]:
        """Return the function of these arguments that runs the lines and returns `results`."""
        body = [*self.lines, f"return {results}"]
        text = "\n".join([f"def function({', '.join(arguments)}):", *(f" {line}" for line in body)])
        return function_of(text, self.constants)


_ON_ARRAYS = {np.add, np.subtract, np.multiply, np.divide, np.minimum, np.maximum}
"""Ufuncs that get numbers beside an array as arrays of rank 0: 0.2 us sooner, of 0.5 for a hundred numbers."""


def _is_of_doubles(eqn: JaxprEqn) -> bool:
    """Tell whether an equation has an array of doubles, and no other operand but doubles and Python's floats."""
    kinds = {(x.aval.dtype, type(x) is Literal and type(x.val) is not float) for x in eqn.invars}
    return kinds == {(_DOUBLE, False)} and bool(eqn.outvars[0].aval.shape)


_DOUBLE = np.dtype("float64")


class _Joint(Record):
    """The results of two equations, and the function that gives both."""

    outs: tuple[Var, Var]
    function: Callable[..., Any]


_joint_functions: dict[tuple[Primitive, Primitive], Callable[..., Any]] = {}


def def_joint_evaluation(first: Primitive, second: Primitive, function: Callable[..., Any]) -> None:
    """Let `function` give the results of two primitives where code needs both of the same operands."""
    _joint_functions[first, second] = function


def _joint_evaluations(program: Jaxpr) -> dict[Var, _Joint]:
    """Return, by result, the pairs of equations that one function evaluates."""
    made = {(eqn.primitive, *eqn.invars): eqn.outvars[0] for eqn in program.eqns if not eqn.params}
    pairs: dict[Var, _Joint] = {}
    for (first, second), function in _joint_functions.items():
        for primitive, *invars in made:
            other = made.get((second, *invars))
            if primitive is first and other is not None:
                joint = _Joint((made[(first, *invars)], other), function)
                pairs[joint.outs[0]] = pairs[joint.outs[1]] = joint
    return pairs


_BY_KEYWORD = (np.maximum, np.minimum)  # other ufuncs take a result's array by position, 0.04 us sooner


def function_of(text: str, constants: Mapping[str, Value]) -> Callable[..., Any]:
    """Return the function named `function` that a text defines; the text holds templates of ours and integers only."""
    namespace = dict(constants, __builtins__={})
    exec(_compiled(text), namespace)  # noqa: S102
    return namespace.pop("function")  # type: ignore[no-any-return]


@lru_cache(maxsize=512)
def _compiled(text: str) -> CodeType:
    return compile(text, "<generated by calque_core>", "exec")
