"""Steps run backwards: from the cotangents of the results of a step to those of its operands.

One idea: a step knows its way back as straight-line code, so an eager backward pass is a loop of calls.  Under a trace,
such as a derivative of this derivative, the way back is a function, for which that trace may have a step in turn.

Read next: `steps.py`, which defines steps; `programs/transpose.py`, which runs equations backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from calque_autodiff.known.steps import LinearizedOperation, Pull
from calque_autodiff.passes.signs import added, computed
from calque_core import Trace, Var, evaluation
from calque_core.engine import all_run_known, here, plain_types, run_code
from calque_core.extend import marked
from calque_core.lax import add_any_p

Value = Any


def pull_steps(eqns: list[Any], bars: dict[Any, Value], context: Any) -> None:  # noqa: C901, PLR0912  (hot)
    """Take steps from the end of `eqns` in evaluation, as long as straight-line code brings their cotangents back.

    Nothing but `bars` refers to the cotangents of the variables `private`, so sums and products are written to them: a
    chain of operations on 100,000 numbers then needs one array, which stays in the cache.
    """
    private: set[Any] = set()
    settings = context.settings
    if settings.enable_checks:  # each operation is checked
        return
    while eqns and context.trace is evaluation:
        operation, invars, result, residuals, position = eqns[-1]
        if type(operation) is not LinearizedOperation or operation.pull is None:
            return
        if operation.settings is not settings and operation.settings != settings:
            return
        ct = bars.get(result)
        if ct is not None:
            code, consuming, adding, _, _, is_whole = operation.pull
            if code is None or consuming is None or not is_whole or type(ct) not in plain_types:
                return
            context.source = position
            if private and adding is not None and invars[0] in private:
                adding(bars[invars[0]], ct, *residuals)
            else:
                chosen = consuming if private and result in private else code
                try:
                    cts = chosen.function(ct, *residuals)
                except Exception:
                    if chosen is not code:  # the cotangent may have been written to
                        raise
                    return  # the program raises it again, and names the primitive
                for x, bar in zip(invars, cts):
                    before = bars.get(x)
                    if before is None:
                        bars[x] = bar
                    elif private and x in private:
                        np.add(before, bar, before)
                    else:  # `added` takes 0.5 us more
                        bars[x] = add_any_p.impl(before, bar) if type(before) in plain_types else added(before, bar)
                if chosen.private:
                    private.update([x for x, m in zip(invars, chosen.private) if m and type(bars[x]) is np.ndarray])
            del bars[result]
        eqns.pop()


def pull_step(
    operation: LinearizedOperation,
    invars: Sequence[Var],
    results: Any,
    residuals: Sequence[Value],
    bars: dict[Any, Value],
) -> None:
    """Replace, in `bars`, the cotangents of the results of a step by cotangents of its operands."""
    if operation.pull is not None:
        if results in bars:
            _add_pulled(operation, operation.pull, [computed(bars.pop(results))], invars, residuals, bars)
        return
    cts = [computed(bars.pop(v, None)) for v in results]
    has_ct = tuple([ct is not None for ct in cts])
    if any(has_ct):
        _add_pulled(operation, operation.programs().pull_for(has_ct), marked(cts, has_ct), invars, residuals, bars)


def _add_pulled(
    operation: LinearizedOperation,
    pull: Pull,
    cts: Sequence[Value],
    invars: Sequence[Var],
    residuals: Sequence[Value],
    bars: dict[Any, Value],
) -> None:
    """Add the cotangents of the operands of a step to `bars`."""
    pulled = _pulled(operation, pull, cts, residuals)
    for x, ct in zip(invars if pull.is_whole else marked(invars, pull.nonzero), pulled):
        bars[x] = added(bars[x], ct) if x in bars else ct


def _is_evaluated(trace: Trace, cts: Sequence[Value], residuals: Sequence[Value]) -> bool:
    """Tell whether code of known values may run: in evaluation, and where no trace asks to see its operations."""
    if not plain_types.keys() >= set(map(type, cts)):
        return False
    return trace is evaluation or (plain_types.keys() >= set(map(type, residuals)) and all_run_known(trace))


def _pulled(
    operation: LinearizedOperation, pull: Pull, cts: Sequence[Value], residuals: Sequence[Value]
) -> Sequence[Value]:
    """Return the cotangents of the operands of a step, by its straight-line code if that can run."""
    context = here()
    trace = context.trace
    by_program = partial(_pulled_by_program, operation, pull, cts, residuals)
    if pull.code is not None and context.settings == operation.settings and _is_evaluated(trace, cts, residuals):
        return run_code("the way back", pull.code.function, [*cts, *residuals], by_program)
    return by_program()


def _pulled_by_program(
    operation: LinearizedOperation, pull: Pull, cts: Sequence[Value], residuals: Sequence[Value]
) -> Sequence[Value]:
    trace = here().trace
    of_rules = pull if pull.for_tracers is not None else operation.of_rules().pull
    program = None if of_rules is None else of_rules.for_tracers
    assert program is not None, operation
    if trace is evaluation:  # which would make one class of all results of a function
        return program(*residuals, *cts)
    return trace.process_function(program, [*residuals, *cts], {})  # type: ignore[no-any-return]
