"""CI runs every program of `examples/`, a table names it, and a program of the gallery is short and has a picture."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES, PAGE = ROOT / "examples", ROOT / "docs" / "gallery.md"
LONGER = {"characters.py", "data_parallel.py", "digits.py", "digits_cnn.py", "matrix_product.py", "plain_numpy.py"}
MODULES = {"adam.py", "conjugate_gradients.py", "digits_data.py", "gallery.py", "lloyd.py"}
PROGRAMS = {path.name for path in EXAMPLES.glob("*.py")} - LONGER - MODULES


def names_in_noxfile() -> list[str]:
    for node in ast.parse((ROOT / "noxfile.py").read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "EXAMPLES":
            return ast.literal_eval(node.value)
    raise LookupError("noxfile.py has no list EXAMPLES")


def linked(text: str) -> set[str]:
    return set(re.findall(r"^\| \[`(\w+\.py)`\]\(\1\)", text, re.MULTILINE))


def test_ci_runs_every_program_once() -> None:
    assert sorted(names_in_noxfile()) == sorted(PROGRAMS | LONGER)


def test_the_tables_name_every_program() -> None:
    longer, gallery = (EXAMPLES / "README.md").read_text().split("## The gallery")
    assert linked(longer) == LONGER
    assert linked(gallery) == PROGRAMS


def test_the_page_shows_code_of_every_program() -> None:
    assert set(re.findall(r"{literalinclude} \.\./examples/(\w+\.py)", PAGE.read_text())) == PROGRAMS


def test_the_page_shows_the_picture_of_every_program_and_no_picture_is_left_over() -> None:
    pictures = {Path(name).with_suffix(".png").name for name in PROGRAMS}
    assert set(re.findall(r"^!\[.+\]\(gallery/(.+)\)$", PAGE.read_text(), re.MULTILINE)) == pictures
    assert {path.name for path in (ROOT / "docs" / "gallery").iterdir()} == pictures


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_program_of_the_gallery_has_fewer_than_80_lines(name: str) -> None:
    assert len((EXAMPLES / name).read_text().splitlines()) < 80


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_picture_of_the_gallery_is_small_and_wide_enough_for_a_page(name: str) -> None:
    picture = (ROOT / "docs" / "gallery" / name).with_suffix(".png").read_bytes()
    width = int.from_bytes(picture[16:20], "big")  # the first field of the header IHDR
    assert len(picture) <= 40 * 1024
    assert 800 <= width <= 1600


@pytest.mark.parametrize("name", sorted(PROGRAMS | LONGER))
def test_a_program_runs_only_when_it_is_the_main_module_and_can_fail(name: str) -> None:
    text = (EXAMPLES / name).read_text()
    assert text.endswith('\nif __name__ == "__main__":\n    main()\n')
    assert "raise SystemExit(" in text


def test_the_k_means_of_the_gallery_imports_numpy_alone() -> None:
    imports = re.findall(r"^(?:import|from) .*$", (EXAMPLES / "lloyd.py").read_text(), re.MULTILINE)
    assert imports == ["import numpy as np"]
