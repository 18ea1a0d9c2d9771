"""Which cases a run tests: all of them, or a sample that another day and another Python draw anew.

One idea: a table of cases is written whole, and the mark `sampled` on its test names the parameter that is the row.  A
run tests at least one case of each row; a hash of the seed and of the case's name decides about its other cases.  The
seed chooses among the cases and makes none: where the full run passes, every sample passes.  Runs may divide the rows,
or the modules, among them, as nox lets two Pythons do; half of the rows is then left to other days.

    pytest tests/laws                              a sample, by today's seed
    pytest tests/laws --sample-seed=2026-11-22     the sample of another day
    pytest tests/laws --share=1/2                  of that sample a quarter of the rows and half of the divided modules
    pytest packages/core/tests --modules=1/2       of that sample the first half of the modules
    pytest tests/laws --full                       every case
    pytest "tests/laws/test_x.py::test_y[z]"       tests named on the command line run whole, too

`--setting=enable_checks` runs the body of each test under this setting of `calque_core.config`, so that an error inside
known code is reported; `--setting=known_operations=off` runs it by rules alone.  Tests with the mark `counts` are left
out then.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

os.environ["CALQUE_CACHE"] = "off"  # tests count what is compiled, and leave nothing in the user's folder of caches
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sample", "which cases of the tables are tested")
    group.addoption("--full", action="store_true", help="test every case of every table, not a sample")
    group.addoption(
        "--sample-seed", default=today(), metavar="TEXT", help="what the sample is drawn by; default: today"
    )
    group.addoption(
        "--share", default="1/1", metavar="I/N", help="test a share of the rows and divided modules, the I-th of N"
    )
    group.addoption("--setting", metavar="NAME[=off]", help="run the body of each test under a setting of calque's")
    group.addoption("--modules", default="1/1", metavar="I/N", help="test a share of all modules, the I-th of N")


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "sampled(keep, rows): a run without --full tests the fraction `keep` of the cases, and at least one of each "
        "row; `rows` names the parameters that are the row, none by default",
    )
    config.addinivalue_line("markers", "slow: a case takes a minute, so that only a run with --full tests it")
    config.addinivalue_line(
        "markers", "counts: what the test counts, or refuses, differs under a setting, so --setting leaves it out"
    )
    config.addinivalue_line(
        "markers", "divided: runs that share the rows among them (--share) share the modules with this mark, too"
    )
    with suppress(ImportError):  # a process of tests meets a primitive with more types than any user's
        plans = importlib.import_module("calque_core.known.table")
        plans._MANY = sys.maxsize


def pytest_report_header(config: pytest.Config) -> str:
    return f"cases: {explanation(config)}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    if exitstatus and not is_full(config):
        terminalreporter.write_line(f"Cases: {explanation(config)}")


def explanation(config: pytest.Config) -> str:
    """Say which cases a run tests, and how to test the same again."""
    if is_full(config):
        return "all"
    options = {name: config.getoption(name) for name in ("share", "modules")}
    shares = "".join(f" --{name}={share}" for name, share in options.items() if share != "1/1")
    return f"a sample, which --sample-seed={seed_of(config)}{shares} draws again on Python {PYTHON}; --full tests all"


def is_full(config: pytest.Config) -> bool:
    """Tell whether nothing is left out: so it is, too, where the command line names tests and not only files."""
    return config.getoption("full") or any("::" in str(arg) for arg in config.args)


def seed_of(config: pytest.Config) -> str:
    """Return the seed; a worker of pytest-xdist has that of the process that started it, at midnight too."""
    return getattr(config, "workerinput", {}).get("sample_seed", config.getoption("sample_seed"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Run the body of a test under the setting that the command line names."""
    name, _, value = (item.config.getoption("setting") or "").partition("=")
    if not name:
        yield
        return
    with getattr(importlib.import_module("calque_core.config"), name)(value != "off"):
        yield


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["sample_seed"] = seed_of(node.config)


@pytest.hookimpl(tryfirst=True)  # other plugins then look at the sample only
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("setting"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("counts")])
        items[:] = [item for item in items if not item.get_closest_marker("counts")]
    if is_full(config):
        return
    marked = [item for item in items if item.get_closest_marker("sampled")]
    seed, share = seed_of(config), config.getoption("share")
    left_out = set(marked) - set(sampled(marked, seed, share)) | set(of_others(items, seed, share))
    left_out.update(of_other_modules(items, seed, config.getoption("modules")))
    left_out.update(item for item in items if item.get_closest_marker("slow"))
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def sampled(items: Iterable[pytest.Item], seed: str, share: str) -> list[pytest.Item]:
    """Return the tests to run: at least one of each row of the share, and the marked fraction of its cases."""
    rows: dict[tuple[str, ...], list[pytest.Item]] = {}
    for item in items:
        rows.setdefault(row_of(item), []).append(item)
    chosen = [row for name, row in rows.items() if len(name) == 1 or is_in_share(with_rest(share), seed, *name)]
    return [item for row in chosen for item in drawn(row, keep_of(row[0]), lambda item: (seed, item.nodeid))]


def with_rest(share: str) -> str:
    """Return a share of the rows that leaves half of them to other days: the shares "1/2" and "2/2" are quarters."""
    number, count = map(int, share.split("/"))
    return f"{number}/{2 * count}" if count > 1 else share


def is_in_share(share: str, *words: str) -> bool:
    """Tell whether a row, by a hash of its name that is one for all Pythons, is in the share "2/3" of the rows."""
    number, count = map(int, share.split("/"))
    return int(count * hashed("", *words)) == number - 1


def of_others(items: Iterable[pytest.Item], seed: str, share: str) -> list[pytest.Item]:
    """Return the tests of the divided modules that are in another share; rows are divided one by one, in any module."""
    divided = [item for item in items if item.get_closest_marker("divided") and not has_rows(item)]
    return [item for item in divided if not is_in_share(share, seed, module_of(item))]


def of_other_modules(items: Sequence[pytest.Item], seed: str, share: str) -> list[pytest.Item]:
    """Return the tests of the modules in another share; shares have equal numbers of modules, but for one."""
    number, count = map(int, share.split("/"))
    modules = sorted({module_of(item) for item in items}, key=lambda module: hashed(seed, module))
    mine = set(modules[number - 1 :: count])
    return [item for item in items if module_of(item) not in mine]


def module_of(item: pytest.Item) -> str:
    """Return the path of a test's module; that of an installed module is one for all Pythons."""
    return item.nodeid.partition("::")[0].rpartition("site-packages/")[2]


def has_rows(item: pytest.Item) -> bool:
    """Tell whether a test is a table with rows."""
    marker = item.get_closest_marker("sampled")
    return marker is not None and len(row_of(item)) > 1


def row_of(item: pytest.Item) -> tuple[str, ...]:
    """Return the name of a case's test and those of the parameters that are its row."""
    names = item.get_closest_marker("sampled").kwargs.get("rows", ())
    values = [item.callspec.params[name] for name in names]
    return (item.nodeid.partition("[")[0], *map(name_of, values))


def name_of(value: Any) -> str:
    """Return a text of a parameter that is one for all processes: that of a function has an address."""
    return str(getattr(value, "name", getattr(value, "__name__", value)))


def keep_of(item: pytest.Item) -> float:
    return item.get_closest_marker("sampled").kwargs["keep"]


def drawn(cases: Sequence[Any], keep: float, key: Callable[[Any], tuple[str, ...]]) -> list[Any]:
    """Return the cases of which a hash of the key is below `keep`; the one with the lowest hash if there is none."""
    numbers = [number_of(*key(case)) for case in cases]
    return [case for case, number in zip(cases, numbers) if number < keep or number == min(numbers)]


def number_of(*words: str) -> float:
    """Return a number in [0, 1) by a hash of the words and of the version of Python."""
    return hashed(PYTHON, *words)


def hashed(*words: str) -> float:
    digest = hashlib.blake2b("\0".join(words).encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


@pytest.fixture
def is_drawn(request: pytest.FixtureRequest) -> Callable[[Any, float], bool]:
    """Return a predicate `(case, keep)` for random cases, which a library draws; always true in a full run."""
    config, name = request.config, request.node.nodeid
    return lambda case, keep: is_full(config) or number_of(seed_of(config), name, repr(case)) < keep


@pytest.fixture
def sample(request: pytest.FixtureRequest) -> Callable[[Sequence[Any], float], list[Any]]:
    """Return a function `(cases, keep) -> cases` for the loop inside a test: at least one case, all in a full run."""

    def draw(cases: Sequence[Any], keep: float) -> list[Any]:
        if is_full(request.config):
            return list(cases)
        seed, name = seed_of(request.config), request.node.nodeid
        return [case for _, case in drawn(list(enumerate(cases)), keep, lambda case: (seed, name, str(case[0])))]

    return draw
