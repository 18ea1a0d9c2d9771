"""The rows of the table: what each measures, its budget, and how a line of it is printed.

One idea: a budget is a ratio.  DESIGN section 5 gives ours and the peers' figures on one machine; a row is within its
budget if ours divided by the best peer's is no more than it is there, whatever machine this is.
Read next: `run.py`.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from kits import installed
from measure import Effort, Samples, ratio

LIBRARIES = ("calque", "numpy", "autograd", "jax", "optree", "torch", "asdex", "folx", "mpmath")
HEADER = ("row", "unit", *LIBRARIES, "ratio", "to", "budget", "within?")


@dataclass(frozen=True)
class Row:
    """One line: `measure` gives the figures; `budget` and `peers` are those of DESIGN, in the row's unit."""

    name: str
    unit: str
    measure: Callable[[Effort], Samples]
    budget: float | None
    peers: Mapping[str, float]
    needs: str = "calque"

    @property
    def judge(self) -> str | None:
        """The best of the peers with a figure in DESIGN that are installed."""
        present = [peer for peer in self.peers if installed(peer)]
        return min(present, key=self.peers.__getitem__, default=None)


Register = Callable[[Callable[[Effort], Samples]], Callable[[Effort], Samples]]
ROWS: list[Row] = []


def row(name: str, unit: str, *, budget: float | None = None, needs: str = "calque", **peers: float) -> Register:
    """Register a function from an `Effort` to `Samples` as a row of the table."""

    def register(measure: Callable[[Effort], Samples]) -> Callable[[Effort], Samples]:
        ROWS.append(Row(name, unit, measure, budget, peers, needs))
        return measure

    return register


def select(pattern: str) -> list[Row]:
    """Return the rows whose name contains `pattern`, or matches it if it has wildcards."""
    return [r for r in ROWS if fnmatch.fnmatchcase(r.name.lower(), f"*{pattern.lower()}*")]


def record(row: Row, samples: Samples) -> dict[str, Any]:
    """Return the row with its figures, as what is printed and what goes into the JSON file."""
    ratios = {peer: ratio(samples, peer) for peer in samples if peer != "calque"}
    judge = row.judge if row.judge in samples else None
    budget = row.budget / row.peers[judge] if judge and row.budget is not None else None
    return {
        "row": row.name,
        "unit": row.unit,
        "figures": {name: median(figures) for name, figures in samples.items()},
        "ratios": ratios,
        "judge": judge,
        "budget": budget,
        "off": ratios[judge] / budget if judge and budget else None,
    }


def cells(record: dict[str, Any]) -> list[str]:
    """Return the line of a record, cell by cell."""
    figures, judge = record["figures"], record["judge"]
    shown = [figure(figures[name]) if name in figures else "-" for name in LIBRARIES]
    ratio = f"{record['ratios'][judge]:.2f}" if judge else "-"
    budget = f"{record['budget']:.2f}" if record["budget"] else "-"
    return [record["row"], record["unit"], *shown, ratio, judge or "-", budget, verdict(record["off"])]


def verdict(off: float | None) -> str:
    """Say whether a row is within its budget, and if not by what factor it is off: NO is more than twice."""
    if off is None:
        return "-"
    return "yes" if off <= 1 else f"no, {off:.2f}x" if off <= 2 else f"NO, {off:.2f}x"


def figure(x: float) -> str:
    """Return a number with three digits that count."""
    return f"{x:.0f}" if x >= 100 else f"{x:.3g}"


def aligned(lines: list[list[str]]) -> str:
    """Return the lines as a table: words to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    words = {HEADER.index(name) for name in ("row", "unit", "to", "within?")}
    align = [str.ljust if i in words else str.rjust for i in range(len(widths))]
    padded = [[place(cell, width) for place, cell, width in zip(align, line, widths)] for line in lines]
    return "\n".join("  ".join(line).rstrip() for line in padded)
