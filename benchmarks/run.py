"""Measure calque beside jax, autograd, torch and optree, in one run, and print a table of ratios.

    python benchmarks/run.py [--quick] [--rows PATTERN] [--json FILE]

`ratio` is ours divided by that of the peer named in `to`: the best one that DESIGN section 5 has a figure of.  `budget`
is the same ratio there; `within?` says by what factor the row is off.  A peer that is not installed is left out.
Read next: `measure.py` for how figures are taken; `table.py` for rows; then the modules of `ORDER`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from importlib import metadata
from pathlib import Path

import compiled
import device
import eager
import first_calls
import harvesting
import imports
import laplacian
import loops
import many_devices
import memory
import second_process
import sparse
import tracing
import trees
import verified
from kits import installed
from measure import FULL, QUICK
from table import HEADER, LIBRARIES, Row, aligned, cells, record, select

ORDER = [
    *(module.__name__ for module in (imports, eager, device, tracing, compiled, loops, trees)),
    *(module.__name__ for module in (many_devices, first_calls, second_process, memory)),
    *(module.__name__ for module in (sparse, laplacian, harvesting, verified)),
]


def main() -> None:
    options = parse_options()
    rows = sorted(select(options.rows), key=lambda r: ORDER.index(r.measure.__module__))
    print(describe_machine())
    for line in missing(rows):
        print(line)
    records = []
    for row in [r for r in rows if installed(r.needs)]:
        started = time.perf_counter()
        records.append(record(row, row.measure(QUICK if options.quick else FULL)))
        print(f"{time.perf_counter() - started:5.1f} s for {row.name}", file=sys.stderr, flush=True)
    print(aligned([list(HEADER), *map(cells, records)]))
    if options.json:
        options.json.write_text(json.dumps({"machine": describe_machine(), "rows": records}, indent=1))


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few and short rounds: does it run, roughly where are we")
    parser.add_argument("--rows", default="", metavar="PATTERN", help="only rows with this in their name; * and ? work")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures and ratios there")
    return parser.parse_args()


def describe_machine() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES if installed(name))
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"Python {platform.python_version()}, {os.cpu_count()} cores{load}; {versions}. {time.strftime('%Y-%m-%d')}"


def version(library: str) -> str:
    """Return a library's version; a checkout on the path has none."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "(checkout)"


def missing(rows: list[Row]) -> list[str]:
    """Return one line for each peer that is not installed, and for each row that is left out."""
    peers = [f"{name} is not installed: its column is empty." for name in LIBRARIES if not installed(name)]
    skipped = [f"{r.name}: left out, {r.needs} does not import." for r in rows if not installed(r.needs)]
    return [*peers, *skipped]


if __name__ == "__main__":
    main()
