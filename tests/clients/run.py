"""Run the tests of libraries that are written for jax, on calque and on jax: `nox -s clients` calls this program.

One idea: a library's own tests come from its source archive, or programs of ours beside this file where the archive has
none; each library runs in a process of its own, on calque by `-p calque_as_jax`, and on jax by an interpreter that has
it, the same sample of tests on both.  The table counts the tests that pass with jax, and of these the ones that pass on
calque; below it are the reasons of failures by class, and the absent names by the number of tests that ask for them.

Read next: `outcomes.py`, the plugin that draws the sample and writes what each test gave.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
MINUTES = 15  # the limit for a sample of a library; four times as long for all of its tests


class Tests(NamedTuple):
    """Where a library's tests are in its archive, none for a program of ours; the sample has one of `one_of` tests."""

    paths: str = ""
    one_of: int = 1


LIBRARIES = {
    "optax": Tests("optax", 40),
    "tinygp": Tests("tests", 3),
    "chex": Tests("chex", 4),
    "blackjax": Tests("tests", 120),
    "equinox": Tests(),
    "lineax": Tests(),
    "optimistix": Tests(),
    "diffrax": Tests(one_of=2),
    "jaxopt": Tests(one_of=3),
    "flax": Tests(),
    "haiku": Tests(),
    "distrax": Tests(),
    "numpyro": Tests(),
}
# Modules that import libraries beside jax which the session does not install.
NEED_MORE = ("linear_algebra_test", "_accumulation_test", "_make_pert_test", "test_benchmarks", "test_multidevice")
CLASSES = {  # the classes of failures, by the words of the error
    "a name that calque lacks": r"calque has no '",
    "an option that a function lacks": r"unexpected keyword argument|positional arguments? but",
    "an attribute that an object lacks": r"AttributeError: ",
    "the words of an error": r" does not match |DID NOT RAISE|not raised|Regex pattern did not match",
    "a dtype": r"AssertionError: .*dtype",
    "a value": r"AssertionError: ",
    "a rule or a kind that is absent": r"NotImplementedError|MissingRuleError",
    "a conversion of a tracer": r"Tracer\w*Error|ConcretizationTypeError",
    "a limit of time": r"TimeoutError",
    "a library that is not installed": r"ModuleNotFoundError",
}
ABSENT = re.compile(r"calque has no '([\w.]+)'")


class Outcome(NamedTuple):
    """What the tests of a library gave: the cause of failure for each test, "" if it passed, and processor seconds."""

    causes: dict[str, str]
    seconds: float

    @property
    def passed(self) -> set[str]:
        """The names of the tests that passed."""
        return {name for name, cause in self.causes.items() if not cause}


def tests_of(library: str, folder: Path) -> tuple[Path, list[str]]:
    """Return the folder and the modules of a library's tests, from its archive in `folder`, or of our program."""
    paths = LIBRARIES[library].paths
    if not paths:
        return HERE, [str(HERE / f"use_{library}.py")]
    archive = next(folder.glob(f"{library}-*.tar.gz"))
    root = folder / archive.name.removesuffix(".tar.gz")
    if not root.exists():
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
    modules = [path for part in paths.split() for path in sorted((root / part).rglob("*test*.py"))]
    modules = [path for path in modules if path.name.startswith("test_") or path.stem.endswith("_test")]
    return root, [str(path) for path in modules if not any(name in str(path) for name in NEED_MORE)]


def run(python: str, library: str, folder: Path, *options: str, full: bool) -> Outcome:
    """Return what the tests of a library give under an interpreter."""
    root, modules = tests_of(library, folder)
    flags = ["-q", "-W", "ignore", "-p", "no:cacheprovider", "--import-mode=importlib", "-c", os.devnull]
    flags += ["--continue-on-collection-errors", f"--rootdir={root}", f"--confcutdir={root}"]
    flags += ["-p", "outcomes", f"--one-of={1 if full else LIBRARIES[library].one_of}"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    environment["JAX_PLATFORMS"] = "cpu"
    with tempfile.TemporaryDirectory() as place:
        written = Path(place) / "outcomes"
        command = [python, "-m", "pytest", *options, *flags, f"--outcomes={written}", *modules]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        text = _finish(command, root, environment, 60 * MINUTES * (4 if full else 1))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        lines = written.read_text(encoding="utf-8").splitlines() if written.exists() else []
    if not lines:
        sys.stderr.write(text[-3000:])
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Outcome(_causes(lines), seconds)


def _finish(command: list[str], root: Path, environment: dict[str, str], limit: int) -> str:
    """Run a command to its end or to a limit; return what it wrote."""
    process = subprocess.Popen(
        command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        return process.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0]


def _causes(lines: list[str]) -> dict[str, str]:
    """Return the cause of each test's failure, "" if it passed; a test that was left out is left out."""
    causes: dict[str, str] = {}
    for name, outcome, cause in map(json.loads, lines):
        if outcome != "skipped":
            causes[name] = causes.get(name) or (cause or "a failure without words" if outcome == "failed" else "")
    return causes


def class_of(cause: str) -> str:
    """Return the class of a failure."""
    kinds = [kind for kind, words in CLASSES.items() if re.search(words, cause)]
    return kinds[0] if kinds else cause.partition(":")[0]


def row(library: str, here: Outcome, there: Outcome | None) -> str:
    """Return the line of a library in the table."""
    if there is None:
        cells = [library, "", f"{len(here.passed)} of {len(here.causes)}", "", f"{here.seconds:.0f}", ""]
    else:
        both = len(here.passed & there.passed)
        share = f"{100 * both / max(len(there.passed), 1):.1f} %"
        cells = [library, f"{len(there.passed)}", f"{both}", share, f"{here.seconds:.0f}", f"{there.seconds:.0f}"]
    return "| " + " | ".join(cells) + " |"


def report(failures: Counter[tuple[str, str]], names: Counter[str]) -> str:
    """Return the reasons of failures by class, and the absent names by the number of tests."""
    reasons = Counter[str]()
    for (library, cause), number in failures.items():
        reasons[f"{library}: {class_of(cause)}"] += number
    parts = ["\nReasons, by tests", *(f"{number:4} {text}" for text, number in reasons.most_common())]
    parts += ["\nAbsent names, by tests that ask for them", *(f"{n:4} {name}" for name, n in names.most_common())]
    words = Counter({f"{library}: {cause.splitlines()[0][:150]}": n for (library, cause), n in failures.items()})
    return "\n".join([*parts, "\nCauses", *(f"{n:4} {text}" for text, n in words.most_common(60))])


def main() -> None:
    """Print the table, the reasons and the absent names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of source archives")
    parser.add_argument("python", help="an interpreter that has the libraries, and calque")
    parser.add_argument("other", nargs="?", default="-", help="one that has the libraries, and jax; - for none")
    parser.add_argument("libraries", nargs="*", help=f"of {', '.join(LIBRARIES)}; all by default")
    parser.add_argument("--full", action="store_true", help="run all tests, not a sample of about a minute a library")
    asked = parser.parse_intermixed_args()
    print("| library | pass with jax | of these here | share | seconds here | with jax |\n" + "| --- " * 6 + "|")
    failures, names = Counter[tuple[str, str]](), Counter[str]()
    for library in asked.libraries or LIBRARIES:
        here = run(asked.python, library, asked.folder, "-p", "calque_as_jax", full=asked.full)
        there = run(asked.other, library, asked.folder, full=asked.full) if asked.other != "-" else None
        print(row(library, here, there), flush=True)
        expected = here.causes if there is None else there.passed
        failed = {name: cause for name, cause in here.causes.items() if cause and name in expected}
        failures.update((library, cause) for cause in failed.values())
        names.update(name for cause in failed.values() for name in set(ABSENT.findall(cause)))
    print(report(failures, names))


if __name__ == "__main__":
    main()
