"""A plugin of pytest: it runs one test of so many, and writes what each test gave into a file, as lines of JSON.

One idea: the sample is drawn by the name of the test, so that two interpreters run the same tests, and each line is
written when its test ends, so that a run which is stopped has told about the tests before.
"""

from __future__ import annotations

import json
import signal
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LIMIT = 300  # seconds for one test


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options of this plugin."""
    parser.addoption("--one-of", type=int, default=1)
    parser.addoption("--outcomes", type=Path, required=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep one test of so many; which, depends on its name."""
    number = config.getoption("one_of")
    items[:] = [item for item in items if zlib.crc32(item.nodeid.encode()) % number == 0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """End a test that takes too long."""
    signal.signal(signal.SIGALRM, _end)
    signal.alarm(LIMIT)
    try:
        return (yield)  # type: ignore[return-value]
    finally:
        signal.alarm(0)


def _end(*_: Any) -> None:
    raise TimeoutError(f"The test took more than {LIMIT} seconds. Run it alone.")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    """Write the outcome of a test that ran or could not be set up."""
    report = yield
    if report.when == "call" or not report.passed:
        error = call.excinfo
        cause = f"{error.typename}: {error.value}" if error is not None and report.failed else ""
        _write(item.config, item.nodeid, report.outcome, cause)
    return report


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Write down a module that cannot be imported as a failure."""
    if report.failed:
        lines = [line[1:].strip() for line in str(report.longrepr).splitlines() if line.startswith("E ")]
        _failures.append((report.nodeid, lines[-1] if lines else "an error in collection"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the modules that could not be imported."""
    for nodeid, cause in _failures:
        _write(session.config, nodeid, "failed", cause)


_failures: list[tuple[str, str]] = []


def _write(config: pytest.Config, nodeid: str, outcome: str, cause: str) -> None:
    with config.getoption("outcomes").open("a", encoding="utf-8") as file:
        file.write(json.dumps([nodeid, outcome, cause]) + "\n")
