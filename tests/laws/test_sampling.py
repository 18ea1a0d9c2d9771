"""The sample of a run: it has a case of every row, is one for all workers, and can be drawn again."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TABLES = ["test_laws.py", "test_loops.py", "test_custom.py", "test_jet.py"]

CASES = """
import pytest

@pytest.mark.sampled(keep=0.1, rows=["row"])
@pytest.mark.parametrize("case", range(20))
@pytest.mark.parametrize("row", ["a", "b", "c"])
def test_of_rows(row, case):
    assert case < 100

@pytest.mark.sampled(keep=0.1)
@pytest.mark.parametrize("case", range(200))
def test_of_one_row(case):
    pass

@pytest.mark.parametrize("case", range(5))
def test_without_a_mark(case):
    pass

@pytest.mark.slow
@pytest.mark.parametrize("case", range(2))
def test_of_a_minute(case):
    pass

def test_of_a_loop(sample):
    print("loop over", sample(range(50), 0.1))

def test_of_random_cases(is_drawn):
    print("random cases", [case for case in range(50) if is_drawn(case, 0.1)])
"""


DIVIDED = """
import pytest

pytestmark = pytest.mark.divided

@pytest.mark.parametrize("case", range(3))
def test_of_{name}(case):
    assert case < 3
"""


def pytest_run(*args, cwd=ROOT, env=()):
    """Return what pytest prints, run in a process of its own, without plugins, which take longer than the tests."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *map(str, args)]
    environment = {**os.environ, "COLUMNS": "200", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **dict(env)}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=environment).stdout


@pytest.fixture
def folder(tmp_path):
    """A folder with a table of cases, under the settings of the repository."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    (tmp_path / "test_cases.py").write_text(CASES)
    return tmp_path


def names(output):
    """Return the tests that a run of pytest lists: the parameters of each by the name of its function."""
    found = re.findall(r"^(\S+)::(\w+)(?:\[(.+)\])?(?: PASSED.*)?$", output, re.MULTILINE)
    return {
        test: [parameters for _, name, parameters in found if name == test] for test in {name for _, name, _ in found}
    }


def collected(folder, *args):
    return names(pytest_run("--collect-only", "-q", *args, cwd=folder))


def test_a_sample_has_a_case_of_each_row_and_a_fraction_of_the_others(folder):
    cases = collected(folder, "--sample-seed=1")
    assert {name.split("-")[0] for name in cases["test_of_rows"]} == {"a", "b", "c"}
    assert 3 <= len(cases["test_of_rows"]) <= 20
    assert 5 <= len(cases["test_of_one_row"]) <= 40
    assert len(cases["test_without_a_mark"]) == 5


def test_slow_cases_are_left_to_full_runs(folder):
    assert "test_of_a_minute" not in collected(folder)
    assert len(collected(folder, "--full")["test_of_a_minute"]) == 2


def test_two_shares_have_cases_of_other_rows_and_leave_some_rows_to_other_days(folder):
    whole = collected(folder, "--sample-seed=2")
    halves = [collected(folder, "--sample-seed=2", f"--share={i}/2") for i in (1, 2)]
    rows = [half.get("test_of_rows", []) for half in halves]
    assert set(rows[0]) | set(rows[1]) < set(whole["test_of_rows"])
    assert not set(rows[0]) & set(rows[1])
    assert rows[0]
    assert rows[1]
    for half in halves:
        assert half["test_of_one_row"] == whole["test_of_one_row"]
        assert half["test_without_a_mark"] == whole["test_without_a_mark"]


def test_each_of_two_shares_has_divided_modules_of_its_own(folder):
    for name in "abcdefgh":
        (folder / f"test_{name}.py").write_text(DIVIDED.format(name=name))
    whole, *halves = (
        {name: cases for name, cases in collected(folder, *share).items() if re.fullmatch("test_of_[a-h]", name)}
        for share in ([], ["--share=1/2"], ["--share=2/2"])
    )
    assert len(whole) == 8
    assert halves[0] | halves[1] == whole
    assert not halves[0].keys() & halves[1].keys()
    assert all(halves)
    assert set(whole) <= set(collected(folder, "--full", "--share=1/2"))


def test_two_shares_of_modules_have_each_module_once(folder):
    for name in "abcde":
        (folder / f"test_{name}.py").write_text(DIVIDED.format(name=name))
    whole, *halves = (
        collected(folder, "--sample-seed=1", *modules) for modules in ([], ["--modules=1/2"], ["--modules=2/2"])
    )
    assert halves[0] | halves[1] == whole
    assert not halves[0].keys() & halves[1].keys()
    assert sum(bool(re.fullmatch("test_of_[a-e]", name)) for name in halves[0]) in (2, 3)
    assert collected(folder, "--full", "--modules=1/2").keys() == whole.keys() | {"test_of_a_minute"}
    said = "--sample-seed=1 --modules=1/2 draws again"
    assert said in pytest_run("--sample-seed=1", "--modules=1/2", cwd=folder)


def test_a_full_run_has_every_case(folder):
    cases = collected(folder, "--full")
    assert [len(cases[name]) for name in ("test_of_rows", "test_of_one_row", "test_without_a_mark")] == [60, 200, 5]
    assert f"loop over {list(range(50))}" in pytest_run("--full", "-s", "-k", "loop", cwd=folder)


def test_a_test_that_is_named_runs_whole(folder):
    assert len(collected(folder, "test_cases.py::test_of_rows")["test_of_rows"]) == 60
    assert f"loop over {list(range(50))}" in pytest_run("-s", "test_cases.py::test_of_a_loop", cwd=folder)


def test_a_seed_draws_one_sample_and_another_seed_another(folder):
    first, again, other = (collected(folder, f"--sample-seed={seed}") for seed in (1, 1, 2))
    assert first == again
    assert first["test_of_one_row"] != other["test_of_one_row"]


def test_a_loop_has_a_sample_too(folder):
    runs = [pytest_run(f"--sample-seed={seed}", "-s", "-k", "loop", cwd=folder) for seed in (1, 1, 2)]
    first, again, other = (re.search(r"loop over \[(.+)\]", run)[1].split(", ") for run in runs)
    assert first == again != other
    assert 1 <= len(first) <= 20


def test_random_cases_have_a_sample_too(folder):
    runs = [pytest_run(*args, "-s", "-k", "random", cwd=folder) for args in (["--sample-seed=1"], ["--full"])]
    drawn, everything = (re.search(r"random cases \[(.+)\]", run)[1].split(", ") for run in runs)
    assert 1 <= len(drawn) <= 20
    assert len(everything) == 50


def test_the_seed_is_printed_first_and_where_a_test_fails_last(folder):
    said = r"a sample, which --sample-seed=1 draws again on Python \d\.\d+; --full tests all"
    assert re.search(f"^cases: {said}$", pytest_run("--sample-seed=1", cwd=folder), re.MULTILINE)
    (folder / "test_cases.py").write_text(CASES.replace("case < 100", "case < 0"))
    assert re.search(f"^Cases: {said}$", pytest_run("-q", "--sample-seed=1", cwd=folder), re.MULTILINE)


def test_workers_take_the_seed_of_the_process_that_starts_them(folder):
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    conftest = folder / "conftest.py"
    conftest.write_text(
        conftest.read_text().replace("def today() -> str:", "def today() -> str:\n    return str(os.getpid())")
    )
    conftest.write_text(conftest.read_text().replace("import hashlib", "import hashlib\nimport os"))
    printed = pytest_run("-p", "xdist", "-n", "2", "-v", cwd=folder)
    assert re.search(r"^=+ \d+ passed", printed, re.MULTILINE), printed


LIST_PROGRAMS = """
import json
import sys
import pytest

def programs(items):
    laws = {}
    for item in items:
        values = getattr(getattr(item, "callspec", None), "params", {}).values()
        laws.setdefault(item.nodeid.split("[")[0], []).extend(v.name for v in values if hasattr(v, "makers"))
    return laws

@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config, items):
    conftest = next(plugin for plugin in config.pluginmanager.get_plugins() if hasattr(plugin, "sampled"))
    table, marked = programs(items), [item for item in items if item.get_closest_marker("sampled")]
    days = [[programs(conftest.sampled(marked, str(day), share)) for share in ("1/2", "2/2")] for day in range(20)]
    result = yield
    print("programs:", json.dumps([table, programs(items), days]))
    return result
"""


@pytest.mark.counts
def test_every_law_has_a_case_of_every_program_and_shares_have_one_on_most_days(tmp_path):
    """Counts programs, whatever the marks of the laws call a row."""
    (tmp_path / "list_programs.py").write_text(LIST_PROGRAMS)
    files = [HERE / name for name in TABLES]
    printed = pytest_run("-p", "list_programs", "--collect-only", "-q", *files, env={"PYTHONPATH": str(tmp_path)})
    table, drawn, days = json.loads(re.search(r"^programs: (.+)$", printed, re.MULTILINE)[1])
    assert {law: set(names) for law, names in drawn.items()} == {law: set(names) for law, names in table.items()}
    assert sum(len(set(names)) > 50 for names in table.values()) >= 20
    assert sum(map(len, drawn.values())) < sum(map(len, table.values())) / 2
    for law in {law for day in days for share in day for law in share}:
        assert set().union(*(share.get(law, []) for day in days for share in day)) == set(table[law]), law
    everything = sum(len(set(table[law])) for law in {*days[0][0], *days[0][1]})
    for share in days[0]:
        assert 0.18 < sum(len(set(names)) for names in share.values()) / everything < 0.32
