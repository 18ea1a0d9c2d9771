"""Interrupts while a program is traced: `python tests/laws/interrupts.py 20000` raises as many, at random moments.

A broken state is anything that a later, unrelated call could see: another current trace, other settings or axes, a
place that is not forgotten, a token in `active`, an array that can no longer be written to.
"""

from __future__ import annotations

import random
import signal
import sys
from collections.abc import Callable

import numpy as np

from calque_autodiff import grad
from calque_batching import vmap
from calque_core import evaluation, lax, make_jaxpr
from calque_core.context import DEFAULT_SETTINGS, active, here
from calque_xla_backend import jit

CAPTURED = np.linspace(0.1, 0.9, 20_000)  # large enough to be held, where small arrays are copied
X = np.linspace(1.0, 2.0, 20_000)


def loss(x):
    """Use what a trace has to undo: a captured array, a call, a loop, a batch inside."""
    y = lax.sin(x * CAPTURED)
    y = lax.cond(True, lambda v: v * 2.0, lambda v: v, y)
    y = vmap(lambda v: v * v, axis_name="i")(y)
    return lax.reduce_sum(lax.scan(lambda c, _: (c * 0.5, c), y, None, length=2)[0])


def compiled(x):
    """Trace and lower a function of its own, without the compiler: XLA cannot be interrupted."""
    return jit(lambda v: loss(v)).lower(x)


VERBS: dict[str, Callable[..., object]] = {
    "make_jaxpr": make_jaxpr(loss),
    "grad": grad(loss),
    "vmap": vmap(lambda x: lax.sin(x * 2.0) + lax.reduce_sum(CAPTURED), axis_name="batch"),
    "jit": compiled,
}


def broken() -> str:
    """Return what an interrupt has left behind, or nothing."""
    context = here()
    wrong = {
        "the current trace": context.trace is not evaluation,
        "the settings": context.settings is not DEFAULT_SETTINGS,
        "the axes": context.axis_env != (),
        "the place": context.source is not None,
        "a token in active": bool(active),
        "a captured array": not CAPTURED.flags.writeable,
        "an argument": not X.flags.writeable,
        "an operation": lax.add(1.0, 2.0) != 3.0,
        "grad": grad(lambda v: v * v)(3.0) != 6.0,
        "vmap": vmap(lambda v: v + 1.0)(np.ones(2)).tolist() != [2.0, 2.0],
    }
    return ", ".join(name for name, is_wrong in wrong.items() if is_wrong)


def interrupted(verb: str, microseconds: float) -> bool:
    """Run a verb with a timer that interrupts it; tell whether it was."""
    try:
        signal.setitimer(signal.ITIMER_REAL, microseconds * 1e-6)
        VERBS[verb](X)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return False


def durations() -> dict[str, float]:
    """Return how long each verb takes, in microseconds; called before anything is timed."""
    longest = {}
    for verb in VERBS:
        interrupted(verb, 1e7)
        low, high = 1.0, 1e6
        while high / low > 1.5:  # the shortest timer that does not interrupt
            middle = (low * high) ** 0.5
            low, high = (middle, high) if interrupted(verb, middle) else (low, middle)
        longest[verb] = high
    return longest


def raise_interrupts(count: int, seed: int = 0) -> dict[str, int]:
    """Raise `count` interrupts; return how often each broken state was found."""
    rng = random.Random(seed)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    found: dict[str, int] = {}
    try:
        longest = durations()
        raised = 0
        while raised < count:
            verb = rng.choice(list(VERBS))
            if interrupted(verb, rng.uniform(1, longest[verb])):
                raised += 1
                problem = broken()
                if problem:
                    found[f"{verb}: {problem}"] = found.get(f"{verb}: {problem}", 0) + 1
    finally:
        signal.signal(signal.SIGALRM, before)
    return found


if __name__ == "__main__":
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    problems = raise_interrupts(total)
    for problem, times in problems.items():
        print(f"{times} times: {problem}")
    print(f"{total} interrupts, {sum(problems.values())} broken states")
    sys.exit(bool(problems))
