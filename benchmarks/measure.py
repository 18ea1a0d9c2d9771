"""How figures are taken: contestants run alternately, so that a loaded machine slows all of them alike.

One idea: a round gives each contestant one figure, the least of a few batches that were timed A B A B.  Batches are
short, so that some of them are not interrupted.  Absolute times move with the machine, so ratios are formed within a
round, and the median over the rounds is what counts.
Read next: `table.py`, which prints the figures.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

Samples = dict[str, list[float]]  # by library: one figure per round, or a single one


@dataclass(frozen=True)
class Effort:
    """How long to measure.

    Rounds of batches in one process; launches of processes; the operations of the chain whose memory counts; how long
    compiled calls are warmed.
    """

    rounds: int
    batches: int
    batch_seconds: float
    launches: int
    chain: int
    warm_seconds: float


FULL = Effort(rounds=7, batches=6, batch_seconds=0.002, launches=7, chain=10_000, warm_seconds=3.0)
QUICK = Effort(rounds=2, batches=2, batch_seconds=0.001, launches=1, chain=1_000, warm_seconds=0.1)
WARM_CALLS, WARM_SECONDS = 40, 0.4  # enough for all but compiled calls, which `Effort.warm_seconds` is for


@dataclass(frozen=True)
class Prepared:
    """A contestant whose every call consumes what `prepare` made, outside the clock."""

    prepare: Callable[[], Any]
    run: Callable[[Any], Any]


Contestant = Callable[[], Any] | Prepared


def race(effort: Effort, contestants: Mapping[str, Contestant], *, per: int, unit: float) -> Samples:
    """Return each contestant's time per operation in each round, a call being `per` operations.

    The garbage collector stays on, as users have it; what importing the libraries left behind is kept out of its way,
    since nobody else has all of them in one process.
    """
    gc.collect()
    gc.freeze()
    counts = {}
    for name, contestant in contestants.items():
        set_notes_of(name)
        counts[name] = calls_per_batch(contestant, effort)
    samples: Samples = {name: [] for name in contestants}
    order = deque(contestants)
    for _ in range(effort.rounds):
        gc.collect()
        batches: Samples = {name: [] for name in contestants}
        for _ in range(effort.batches):
            order.rotate()  # whoever comes first after a collection has cold caches, and the end of a time slice
            for name in order:
                set_notes_of(name)
                batches[name].append(seconds(contestants[name], counts[name]) / counts[name])
        for name, times in batches.items():
            samples[name].append(min(times) / per / unit)
    gc.unfreeze()
    return samples


def set_notes_of(library: str) -> None:
    """Let jaxlib note the frames of calls, or not, as in a process that has no other library; jax reads them."""
    jaxlib = sys.modules.get("jaxlib._jax")
    if jaxlib is not None:
        jaxlib.set_tracebacks_enabled(library != "calque")


def calls_per_batch(contestant: Contestant, effort: Effort) -> int:
    """Return how many calls fill a batch, once the contestant is warm."""
    warm_up(contestant, WARM_CALLS, min(WARM_SECONDS, effort.warm_seconds))
    count = 1
    while count < 1_000_000 and (taken := seconds(contestant, count)) < effort.batch_seconds:
        count = max(2 * count, int(count * effort.batch_seconds / taken))
    return count


def warm_up(contestant: Contestant, calls: int, at_most: float) -> None:
    """Call until what the first calls bring is over: tracing, compiling, code generated for what recurs."""
    ends = perf_counter() + at_most
    for _ in range(calls):
        seconds(contestant, 1)
        if perf_counter() > ends:
            return


def seconds(contestant: Contestant, count: int) -> float:
    """Return the time that `count` calls take."""
    if isinstance(contestant, Prepared):
        return sum(seconds_of_run(contestant) for _ in range(count))
    calls = range(count)
    started = perf_counter()
    for _ in calls:
        contestant()
    return perf_counter() - started


def seconds_of_run(contestant: Prepared) -> float:
    """Return the time of one call on freshly prepared material."""
    material = contestant.prepare()
    started = perf_counter()
    contestant.run(material)
    return perf_counter() - started


def ratio(samples: Samples, other: str) -> float:
    """Return our figure divided by another's, the median over rounds."""
    return median(ours / theirs for ours, theirs in zip(samples["calque"], samples[other]))


def check_agreement(results: Mapping[str, Any]) -> None:
    """Refuse to compare libraries that do not compute the same: a wrong program can be arbitrarily fast."""
    expected = np.asarray(results["calque"], np.float64)
    for name, result in results.items():
        np.testing.assert_allclose(np.asarray(result, np.float64), expected, rtol=1e-3, atol=1e-5, err_msg=name)
