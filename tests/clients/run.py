"""Run the tests of libraries that are written for jax, on calque and on jax: `nox -s clients` calls this program.

One idea: a library's own tests come from its source archive, or programs of ours beside this file where the archive has
none; each runs in a process of its own, on calque by `-p calque_as_jax`, and on jax by an interpreter that has it.  The
table says how many pass, the seconds of processor time, and the causes of failures by their class and first words.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
RELEASES = {  # the release of each library, and the paths of its tests that are run; none: a program of ours
    "optax": ("0.2.8", "optax/_src optax/losses optax/projections optax/transforms optax/tree_utils"),
    "tinygp": ("0.3.1", "tests"),
    "equinox": ("0.13.8", ""),
    "lineax": ("0.1.1", ""),
    "optimistix": ("0.1.0", ""),
    "diffrax": ("0.7.2", ""),
}
NEEDS_MORE = ["alias_test", "linear_algebra_test", "_accumulation_test"]  # modules that import other libraries
CAUSE = re.compile(r"^E\s+([\w.]*(?:Error|Exception|Warning)\b: .{0,80})", re.MULTILINE)
COUNTS = re.compile(r"(\d+) (passed|failed|error)")
MINUTES = 15


class Outcome(NamedTuple):
    """What the tests of a library gave: numbers of tests, seconds of the processor, causes of failures."""

    passed: int
    failed: int
    seconds: float
    causes: Counter[str]


def tests_of(library: str, folder: Path) -> tuple[Path, list[str]]:
    """Return the folder and the modules of a library's tests, from its archive in `folder`, or of our program."""
    release, paths = RELEASES[library]
    if not paths:
        return HERE, [str(HERE / f"use_{library}.py")]
    root = folder / f"{library}-{release}"
    if not root.exists():
        with tarfile.open(folder / f"{library}-{release}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    found = [path for part in paths.split() for path in sorted((root / part).rglob("*test*.py"))]
    modules = [str(p) for p in found if p.name.startswith("test_") or p.name.endswith("_test.py")]
    return root, [path for path in modules if not any(name in path for name in NEEDS_MORE)]


def run(python: str, library: str, folder: Path, *options: str) -> Outcome:
    """Return what the tests of a library give under an interpreter."""
    root, modules = tests_of(library, folder)
    flags = ("-q", "--tb=short", "-W", "ignore", "-p", "no:cacheprovider", "--import-mode=importlib", "-c", "/dev/null")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [python, "-m", "pytest", *options, *flags, f"--rootdir={root}", *modules]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=60 * MINUTES)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    counts = {kind: int(number) for number, kind in COUNTS.findall(done.stdout.splitlines()[-1] if done.stdout else "")}
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    failed = counts.get("failed", 0) + counts.get("error", 0)
    if not counts:
        sys.stderr.write(done.stdout[-3000:] + done.stderr[-3000:])
    return Outcome(counts.get("passed", 0), failed, seconds, Counter(CAUSE.findall(done.stdout)))


def main(folder: str, python: str, other: str = "", *libraries: str) -> None:
    """Print the table: `python run.py folder-of-archives python [python-with-jax or "-" [library ...]]`."""
    print("| library | passed | failed | seconds | passed with jax | failed | seconds |\n" + "| --- " * 7 + "|")
    causes: Counter[str] = Counter()
    for library in libraries or RELEASES:
        here = run(python, library, Path(folder), "-p", "calque_as_jax")
        there = run(other, library, Path(folder)) if other not in ("", "-") else None
        row = [library, here.passed, here.failed, f"{here.seconds:.0f}"]
        row += [there.passed, there.failed, f"{there.seconds:.0f}"] if there else ["", "", ""]
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
        causes += Counter({f"{library}: {cause}": number for cause, number in here.causes.items()})
    print("\n" + "\n".join(f"{number:4} {cause}" for cause, number in causes.most_common(40)))


if __name__ == "__main__":
    main(*sys.argv[1:])
