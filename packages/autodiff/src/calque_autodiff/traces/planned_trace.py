"""Derivatives over evaluation: an operation whose types were met before runs as code that its rules gave once.

One idea: the rules of an operation give the same equations whenever its operands have the same types.  A function of
NumPy's is such an operation too, although it has many equations.  Its code is looked up here, and run by forward and
backward derivatives in their own ways.

Under a derivative of this derivative, or a batch, the code takes tracers: it is then a function, for which that trace
may have code in turn.

Read next: `step_trace.py` and `push_trace.py`, the two kinds of derivatives; `operations.py` of this package, which
makes the code.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from calque_autodiff.known.operation import function_operations, primitive_operations, program_operations
from calque_autodiff.known.steps import FLOATS, LinearizedOperation, is_among, operands_among
from calque_autodiff.traces.jvp_trace import JVPTrace, JVPTracer
from calque_core import Primitive, Trace, Tracer, evaluation, typeof
from calque_core.extend import (
    SCALAR_TYPES,
    ArrayOperations,
    FunctionOfItems,
    JaxprFunction,
    add_option,
    add_options,
    all_take_plans,
    are_canonical,
    canonical_value,
    current_position,
    decided_by_types,
    exact_params,
    here,
    is_array_like,
    mark_wrapper,
    may_expand,
)

Value = Any


class PlannedTracer(ArrayOperations, JVPTracer):
    """A tracer of a trace that knows functions: its methods and operators, which are such functions, ask the trace."""

    __slots__ = ()


Operands = tuple[list[Value], list[Value]]  # the primals of operands; the tangents of operands that have a tangent
_OPERANDS = frozenset((np.ndarray, *SCALAR_TYPES))  # the classes of a primitive's operands without a tangent
_ARRAYS_AND_FLOATS = FLOATS | {np.ndarray}
_WEAK = frozenset((float, complex))
_MOST_DERIVATIVES = 3  # one inside the other: the code of more is large, and pays after dozens of calls only


def may_plan(parent: Trace | None) -> bool:
    """Tell whether a derivative over a trace may have plans."""
    if parent is evaluation:  # nearly always
        return True
    if not all_take_plans(parent):
        return False
    derivatives = 1
    while parent is not None:
        derivatives += isinstance(parent, PlannedTrace)
        parent = parent.parent
    return derivatives <= _MOST_DERIVATIVES


def _no_option(key: list[Any], x: Value) -> bool:
    """Refuse an argument: a primitive has operands alone."""
    return False


class PlannedTrace(JVPTrace):
    """Applies jvp rules over evaluation, and code in their place where it is known."""

    def __init__(self, parent: Trace, tangent_trace: Trace) -> None:
        JVPTrace.__init__(self, parent, tangent_trace)
        self.tracer = PlannedTracer

    @abstractmethod
    def run_known(
        self, operation: LinearizedOperation, primals: list[Value], tangents: Sequence[Value]
    ) -> list[Value] | None:
        """Run the code of an operation, and return its results; return None where a rule has to run."""

    def process_primitive(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        """Run a known primitive by its code, or by its rule."""
        if primitive.is_leaf:
            key: list[Any] = [primitive]
            operands = self.operands(key, args, _OPERANDS, _no_option)
            if operands is not None:
                if params:
                    key.append(exact_params(params))
                operation = primitive_operations.find(key, key, params)
                outs = None if operation is None else self.run_known(operation, *operands)
                if outs is not None:
                    return outs
        return self.run_rule(primitive, args, params)

    @mark_wrapper
    def process_function(
        self, function: Callable[..., Value], args: Sequence[Value], options: Mapping[str, Any]
    ) -> Value:
        """Run a known function by its code, or call it.

        Its operands are the arguments with a tangent, and floats unless the function looks at their values; arrays
        without a tangent, too, if the function promises to look at no element.  All other arguments are options.
        """
        if type(function) is JaxprFunction:
            return self.process_program(function, args)
        key: list[Any] = [function]
        promised = function.function if type(function) is FunctionOfItems else function
        kinds = _ARRAYS_AND_FLOATS if promised in decided_by_types else FLOATS
        operands = self.operands(key, args, kinds, add_option)
        if operands is None or (options and not add_options(key, options)) or not may_expand():
            return function(*args, **options)
        primals, tangents = operands
        known = function_operations.find(key, self, function, args, options, kinds)
        if known is not None and known.operation is None:  # the function looks at floats: their texts join the key
            key += [repr(x) for x in args if type(x) in FLOATS]
            primals = [p for p, x in zip(primals, operands_among(args, kinds)) if type(x) not in FLOATS]
            kinds -= FLOATS
            known = function_operations.find(key, self, function, args, options, kinds)
        outs = None if known is None or known.operation is None else self.run_known(known.operation, primals, tangents)
        if known is None or outs is None:
            return function(*args, **options)
        return outs[0] if known.function.is_new_array else known.function.results(outs, operands_among(args, kinds))

    def process_program(self, function: JaxprFunction, args: Sequence[Value]) -> list[Value]:
        """Run a known program by its code, or interpret it: all its arguments are operands."""
        key: list[Any] = [function]
        operands = self.operands(key, args, _OPERANDS, _no_option) if may_expand() else None
        operation = None if operands is None else program_operations.find(key, key)
        outs = None if operation is None or operands is None else self.run_known(operation, *operands)
        return function(*args) if outs is None else outs

    def operands(
        self,
        key: list[Any],
        args: Sequence[Value],
        kinds: Collection[type],
        add_other: Callable[[list[Any], Value], bool],
    ) -> Operands | None:
        """Return the primals of tracers and arguments of the classes `kinds`, and the tangents.

        Their types are appended to a key; `add_other(key, x)` appends any other argument, or returns False.  None says
        that the rules have to run.
        """
        primals: list[Value] = []
        tangents: list[Value] = []
        for x in args:
            kind = type(x)
            if kind is PlannedTracer and x._trace is self:
                primal = x.primal
                if type(primal) in _WEAK and typeof(primal) != x.aval:  # a setting was changed since it was made
                    return None
                key.append(x.aval)
                primals.append(primal)
                tangents.append(x._tangent)
            elif kind in kinds:
                if kind is np.ndarray and not is_array_like(x):  # of texts, say: an error of the function names it
                    return None
                value = x if kind is float or are_canonical((x,)) else canonical_value(x)
                key.append(type(value))
                if kind is np.ndarray:
                    key.append(typeof(value))
                primals.append(value if kind is not np.ndarray or x.ndim else value[()])  # not to be written to later
            elif is_among(x, kinds) or (self.parent is not evaluation and isinstance(x, Tracer)):
                key += np.ndarray, typeof(x)
                primals.append(x)
            elif not add_other(key, x):
                return None
        return (primals, tangents) if tangents else None

    def under_parent(self, run: Callable[..., Value], *args: Value) -> Value:
        """Return `run(*args)`, computed under the parent, at the user's line."""
        context = here()
        before, source = context.trace, context.source
        try:
            context.trace, context.source = self.parent, current_position(5)
            return run(*args)
        finally:
            context.trace, context.source = before, source
