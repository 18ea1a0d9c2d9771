"""Each program of `examples/` has a page in the gallery with what it draws and prints, and runs once."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES, PAGES = ROOT / "examples", ROOT / "docs" / "gallery"
sys.path.insert(0, str(EXAMPLES))
import run as runner  # noqa: E402  # the folder of the examples is no package

PROGRAMS = set(runner.programs())
LONGER = {"characters", "data_parallel", "digits", "digits_cnn", "matrix_product", "plain_numpy"}
MODULES = {"adam", "conjugate_gradients", "digits_data", "gallery", "lloyd", "run"}


def source(name: str) -> str:
    return (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


DRAWING = {name for name in PROGRAMS if "save(figure, __file__)" in source(name)}


def linked(text: str) -> set[str]:
    return set(re.findall(r"^\| \[`(\w+)\.py`\]\(\1\.py\)", text, re.MULTILINE))


# The pages


def test_every_file_is_a_program_that_runs_or_a_module() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == PROGRAMS | MODULES
    assert PROGRAMS.isdisjoint(MODULES)
    assert LONGER < PROGRAMS
    assert len(DRAWING) >= 13


def test_the_tables_name_every_program() -> None:
    longer, gallery = (EXAMPLES / "README.md").read_text(encoding="utf-8").split("## The gallery")
    assert linked(longer) == LONGER
    assert linked(gallery) == PROGRAMS - LONGER


def test_every_program_has_a_page_and_no_page_is_left_over() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == PROGRAMS


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_page_shows_the_program_its_output_and_its_picture(name: str) -> None:
    shown = set(re.findall(r"{literalinclude} \.\./\.\./examples/([\w./]+)", page(name)))
    assert shown >= {f"{name}.py", f"output/{name}.txt"}
    pictures = re.findall(r"^!\[.+\]\(\.\./\.\./examples/output/(\w+)\.png\)$", page(name), re.MULTILINE)
    assert pictures == ([name] if name in DRAWING else [])


def test_the_gallery_leads_to_every_page_with_its_title_by_its_picture() -> None:
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    by_picture = re.findall(r"!\[.+\]\(\.\./examples/output/(\w+)\.png\)\]\(gallery/\1\.md\)", text)
    assert sorted(by_picture) == sorted(DRAWING)
    titles = dict(re.findall(r"\[([^\]!]+)\]\(gallery/(\w+)\.md\)\.", text))
    assert {name: title for title, name in titles.items()} == {n: page(n).split("\n")[0][2:] for n in PROGRAMS}
    assert set(re.findall(r"^gallery/(\w+)$", text, re.MULTILINE)) == PROGRAMS  # the table of contents


def test_the_repository_keeps_the_picture_of_the_readme_alone() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"!\[.+\]\((.+\.png)\)\]", readme) == ["docs/gallery/neural_ode.png"]
    [picture] = PAGES.glob("*.png")
    assert picture.name == "neural_ode.png"
    assert picture.stat().st_size <= 40 * 1024


@pytest.mark.parametrize("name", sorted(PROGRAMS - LONGER))
def test_a_program_of_the_gallery_has_fewer_than_80_lines(name: str) -> None:
    assert len(source(name).splitlines()) < 80


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_program_can_fail(name: str) -> None:
    assert "raise SystemExit(" in source(name)


def test_the_k_means_of_the_gallery_imports_numpy_alone() -> None:
    imports = re.findall(r"^(?:import|from) .*$", source("lloyd"), re.MULTILINE)
    assert imports == ["import numpy as np"]


# What the programs wrote


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_program_has_run_and_the_time_it_took_is_kept(name: str) -> None:
    assert runner.recorded_key(name) == runner.key(name), "run `python examples/run.py`"
    session = (runner.OUTPUT / f"{name}.txt").read_text(encoding="utf-8")
    assert re.fullmatch(rf"\$ time python examples/{name}\.py\n.+\nreal \d+\.\d s\n", session, re.DOTALL)


@pytest.mark.parametrize("name", sorted(DRAWING))
def test_a_picture_is_small_and_wide_enough_for_a_page(name: str) -> None:
    picture = (runner.OUTPUT / f"{name}.png").read_bytes()
    width = int.from_bytes(picture[16:20], "big")  # the first field of the header IHDR
    assert len(picture) <= 40 * 1024
    assert 800 <= width <= 1600


# The command that runs them


def test_ci_runs_the_programs_in_one_session_before_it_builds_the_pages() -> None:
    text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    assert text.count("examples/run.py") == 1
    assert re.search(r'requires=\["wheels", "examples"\]\)\ndef docs\(', text)
    assert re.search(r'sessions = \[.*"examples",.* "docs".*\]', text)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with one program, which counts its runs, and the module that it imports."""
    monkeypatch.setattr(runner, "EXAMPLES", tmp_path)
    monkeypatch.setattr(runner, "OUTPUT", tmp_path / "output")
    (tmp_path / "gallery.mplstyle").write_text("")
    (tmp_path / "requirements.txt").write_text("# none\npytest\n")
    (tmp_path / "number.py").write_text("NUMBER = 5\n")
    (tmp_path / "count.py").write_text(
        "import number\n\n\ndef main():\n    open('runs', 'a').write('.')\n    print(number.NUMBER)\n\n" + runner.MAIN
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def runs(folder: Path) -> int:
    return len((folder / "runs").read_text())


def test_a_program_runs_again_only_when_its_text_or_a_module_of_its_own_changes(folder) -> None:
    assert runner.programs() == ["count"]
    runner.renew(["count"])
    runner.renew(["count"])
    assert runs(folder) == 1
    assert "\n5\n" in (folder / "output" / "count.txt").read_text()
    (folder / "number.py").write_text("NUMBER = 60\n")  # of another size: bytecode is taken by seconds and size
    runner.renew(["count"])
    assert runs(folder) == 2
    assert "\n60\n" in (folder / "output" / "count.txt").read_text()
    (folder / "output" / "count.txt").unlink()
    runner.renew(["count"])
    assert runs(folder) == 3


def test_a_program_runs_again_when_the_library_changes(folder, monkeypatch) -> None:
    runner.renew(["count"])
    monkeypatch.setattr(runner, "library_key", lambda: "another")
    runner.renew(["count"])
    assert runs(folder) == 2


def test_the_key_depends_on_every_package() -> None:
    assert {f"calque_{package}" for package in runner.PACKAGES} | {"calque"} == {
        path.name for path in ROOT.glob("packages/*/src/*") if path.is_dir()
    }


def test_a_program_that_fails_stops_with_what_it_printed(folder) -> None:
    (folder / "count.py").write_text("print('so far')\n1 / 0\n" + runner.MAIN)
    with pytest.raises(SystemExit, match=r"(?s)so far.*ZeroDivisionError.*examples/count.py failed"):
        runner.renew(["count"])
    assert not (folder / "output").exists()


def test_a_missing_requirement_is_named_with_the_command_that_installs_it(folder) -> None:
    (folder / "requirements.txt").write_text("pytest\nno-such-library>=2\n")
    words = "need no-such-library, which this environment does not have. Run `python -m pip install -r examples/req"
    with pytest.raises(SystemExit, match=words):
        runner.renew(["count"])
    assert not (folder / "runs").exists()


def test_a_program_of_jax_s_names_the_libraries_that_are_missing(folder, monkeypatch) -> None:
    (folder / "libraries.txt").write_text("no-such-library==2\n")
    monkeypatch.setattr(runner, "LIBRARIES", folder / "libraries.txt")
    (folder / "count.py").write_text("import calque_as_jax\n" + runner.MAIN)
    words = "need no-such-library, .* Run `python -m pip install --no-deps -r tests/clients/libraries.txt`"
    with pytest.raises(SystemExit, match=words):
        runner.renew(["count"])
