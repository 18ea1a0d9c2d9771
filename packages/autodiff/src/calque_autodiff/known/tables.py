"""The tables of known operations: of `jvp`, of `linearize` and `vjp`, with two entries for an operation.

One idea: over evaluation an operation and its derivative run as code; while a program is staged, their equations are
copied.  The table of a transformation makes whichever the trace asks for.

Read next: `operation.py` makes code, `copies.py` copies; `every_size.py` makes code for arrays of other shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_autodiff.known.copies import dual_function, linearized_function
from calque_autodiff.known.every_size import dual_in_every_size, linearized_in_every_size
from calque_autodiff.known.operation import dual_operation, linearized_operation
from calque_autodiff.traces.jvp_trace import JVPTrace
from calque_core import Trace, evaluation
from calque_core.engine import (
    Call,
    CodeTrace,
    JaxprFunction,
    Known,
    KnownOperations,
    Operation,
    TypedCall,
    all_run_known,
    holds_equations_alone,
    known_of,
    makes_its_results,
    records_alone,
)

_MOST_DERIVATIVES = 3  # one inside the other: the code of more is large, and pays after dozens of calls only
Derive = Callable[[Operation, Sequence[bool]], Any]


def known_derivatives(table: KnownOperations[Known], parent: Trace) -> KnownOperations[Known] | None:
    """Return the table of a derivative over a trace, None if each rule has to run."""
    if parent is evaluation or records_alone(parent):  # nearly always
        return table
    if not all_run_known(parent):
        return None
    derivatives, trace = 1, parent
    while trace is not evaluation and trace is not None:
        derivatives += isinstance(trace, JVPTrace)
        trace = trace.parent  # type: ignore[assignment]
    return table if derivatives <= _MOST_DERIVATIVES else None


def _known(code: Derive, copies: Derive, call: Call) -> Known | None:
    """Return an operation with its derivative, as code or as functions that copy equations."""
    recording = call.trace.recording
    if recording is not None:
        return known_of(call, recording, lambda operation, typed: copies(operation, typed.is_mine))
    return known_of(call, CodeTrace, lambda operation, typed: _coded(code, operation, typed))


def _coded(code: Derive, operation: Operation, typed: TypedCall) -> Any:
    program = operation.program
    is_program = type(typed.operation) is JaxprFunction  # of a function, `operation_of` asks the same
    if is_program and not (makes_its_results(program) and holds_equations_alone(program)):
        return None
    return code(operation, typed.is_mine)


def _linearized(*call: Any) -> Known | None:
    return _known(linearized_operation, linearized_function, Call(*call))


def _dual(*call: Any) -> Known | None:
    return _known(dual_operation, dual_function, Call(*call))


linearizations = KnownOperations(_linearized, linearized_in_every_size)
jvps = KnownOperations(_dual, dual_in_every_size)
