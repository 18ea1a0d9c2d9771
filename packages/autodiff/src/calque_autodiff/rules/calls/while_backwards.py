"""The reverse pass of `while`: a step cut in two, and the program that undoes the steps.

One idea: the halves of a step determine the values that undo it.  The half that is not linear is computed again, from
the changing carries that it needs; the linear half is transposed.

Read next: `reversal.py`, the schedule of saved and recomputed states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from calque_autodiff.programs.partial_eval import partial_eval_jaxpr
from calque_autodiff.programs.transpose import transpose_jaxpr
from calque_autodiff.rules.calls.reversal import run_backwards
from calque_autodiff.rules.calls.scan import in_groups
from calque_core import Jaxpr, MissingRuleError, add_tangents, dce_jaxpr, eval_jaxpr, stage
from calque_core.engine import Mask, marked_carries
from calque_core.extend import marked, merged, unmarked, where
from calque_core.lax import while_loop

Value = Any


def linear_carries(body_jaxpr: Jaxpr, const_linear: Mask, start_linear: Mask) -> Mask:
    """Return a mask of the carries that depend on a linear operand at some step."""

    def after(mask: Mask) -> Mask:
        known = [not m for m in (*const_linear, *mask)]
        return [not k for k in partial_eval_jaxpr(body_jaxpr, known).known_outs]

    return marked_carries(start_linear, after)


def without_linear(cond_jaxpr: Jaxpr, linear: Mask) -> Jaxpr:
    """Return the condition without its linear operands.

    Raises: MissingRuleError if it needs one.
    """
    condition, used = dce_jaxpr(cond_jaxpr, [True], instantiate=[not m for m in linear])
    if any(a and b for a, b in zip(used, linear)):
        raise MissingRuleError(
            f"The while_loop{where()} cannot be transposed: its condition depends on linear operands. Make the "
            "condition depend on other operands only.",
            primitive="while",
            kind="transpose",
            package="calque_autodiff",
        )
    return condition


class Step(NamedTuple):
    """A step of a loop that is linear in some operands, cut in two.

    `forward` takes the constants and carries that are not linear; it returns the next such carries, then residuals.
    `is_saved` marks the carries that are needed to undo the step.  `backward` takes the residuals, then the cotangents
    of the linear carries that both `carry_mask` and `is_open` mark: a carry outside `is_open` is not linear after the
    step.  It returns the cotangents of the linear constants in `const_mask`, then of the carries in `carry_mask`.
    """

    forward: Jaxpr
    is_saved: Mask
    backward: Jaxpr
    is_open: Mask
    const_mask: Mask
    carry_mask: Mask


def cut_step(body_jaxpr: Jaxpr, const_linear: Mask, carry_linear: Mask, ct_mask: Mask) -> Step:
    """Cut the body of a loop in two; transpose the linear half for the carries with a cotangent at some step."""
    split = partial_eval_jaxpr(body_jaxpr, [not m for m in (*const_linear, *carry_linear)])
    num_known, num_values = sum(split.known_outs), carry_linear.count(False)
    outs, residuals = split.known.outvars[:num_known], split.known.outvars[num_known:]
    forward = split.known.replace(outvars=[*unmarked(outs, marked(carry_linear, split.known_outs)), *residuals])
    is_open = [not k for k in marked(split.known_outs, carry_linear)]
    linear = [*[False] * len(residuals), *[True] * (sum(const_linear) + len(is_open))]
    num_consts = sum(const_linear)
    carry_mask = marked_carries(
        ct_mask, lambda m: transpose_jaxpr(split.unknown, linear, marked(m, is_open))[1][num_consts:]
    )
    required = [*[False] * num_consts, *carry_mask]
    backward, nonzero = transpose_jaxpr(split.unknown, linear, marked(carry_mask, is_open), instantiate=required)
    return Step(forward, saved_carries(forward, num_values), backward, is_open, nonzero[:num_consts], carry_mask)


def saved_carries(forward: Jaxpr, num_carry: int) -> Mask:
    """Return a mask of the carries that change, and that the residuals of this step or a later one need."""
    num_consts, num_residuals = len(forward.invars) - num_carry, len(forward.outvars) - num_carry
    is_needed = marked_carries(
        [False] * num_carry, lambda m: dce_jaxpr(forward, [*m, *[True] * num_residuals])[1][num_consts:]
    )
    is_changed = [a is not b for a, b in zip(forward.invars[num_consts:], forward.outvars)]
    return [a and b for a, b in zip(is_needed, is_changed)]


def reverse_program(step: Step, condition: Jaxpr, options: dict[str, Any]) -> Jaxpr:
    """Return the reverse pass.

    It takes the operands that are not linear, the sums of the cotangents of constants, and the cotangents of carries
    after the last step.  It returns the final sums, and the cotangents of carries before the first step.
    """
    num_values, num_sums = len(step.is_saved), sum(step.const_mask)
    num_conds, num_consts = len(condition.invars) - num_values, len(step.forward.invars) - num_values

    def program(*args: Value) -> Sequence[Value]:
        cond_consts, consts, carry, bars = in_groups(args, num_conds, num_consts, num_values)

        def forward(values: Sequence[Value]) -> list[Value]:
            return eval_jaxpr(step.forward, step.forward.consts, *consts, *values)

        def after(saved: Sequence[Value]) -> list[Value]:
            return forward(merged(step.is_saved, saved, unmarked(carry, step.is_saved)))

        def undo(saved: Sequence[Value], bars: Sequence[Value]) -> list[Value]:
            open_bars = marked(bars[num_sums:], marked(step.is_open, step.carry_mask))
            step_bars = eval_jaxpr(step.backward, step.backward.consts, *after(saved)[num_values:], *open_bars)
            return [*map(add_tangents, bars, step_bars[:num_sums]), *step_bars[num_sums:]]

        count, _ = while_loop(
            lambda state: eval_jaxpr(condition, condition.consts, *cond_consts, *state[1])[0],
            lambda state: (state[0] + 1, forward(state[1])[:num_values]),
            (0, carry),
            **options,
        )
        redo = lambda saved: marked(after(saved)[:num_values], step.is_saved)
        return run_backwards(count, options, redo, undo, marked(carry, step.is_saved), bars)

    bar_avals = [aval.strip_weak_type() for aval in step.backward.out_avals]
    jaxpr = stage(program, [*condition.in_avals[:num_conds], *step.forward.in_avals, *bar_avals], verb="transpose")
    return dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)[0]
