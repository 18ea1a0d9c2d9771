"""What every distribution says of the project: `python release/metadata.py` writes it into each pyproject.toml.

One idea: `project.toml` is the one place for the host, the author and the classifiers; the values are written into the
file of each package, so that any tool reads them there.  A test compares both, so that no value is edited twice.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((Path(__file__).parent / "project.toml").read_text(encoding="utf-8"))
FACADE = "calque"
AUTHORS = re.compile(r"^(license-files = .*\n)(?:authors = .*\n)?", re.MULTILINE)
CLASSIFIERS = re.compile(r"^classifiers = \[\n(?:    .*\n)*\]\n", re.MULTILINE)
URLS = re.compile(r"(?:^\[project\.urls\]\n(?:\w+ = .*\n)*\n)?(?=^\[tool\.hatch\.version\])", re.MULTILINE)
PICTURE = re.compile(r"<!-- picture -->\n(?:!\[.*\n)?<!-- end of the picture -->\n")


def folders() -> list[Path]:
    """Return the folders of the packages."""
    return sorted(path.parent for path in (ROOT / "packages").glob("*/pyproject.toml"))


def with_metadata(text: str, package: str) -> str:
    r"""Return the text of a pyproject.toml with the author, classifiers and addresses of the project.

    >>> text = 'license-files = ["LICENSE"]\nclassifiers = [\n]\n\n[tool.hatch.version]\n'
    >>> "Changelog" in with_metadata(text, "core")
    True
    """
    host, more = PROJECT["host"], PROJECT["more_classifiers"].get(package, [])
    author = f'{{ name = "{PROJECT["author"]}", email = "{PROJECT["email"]}" }}'
    classifiers = "".join(f'    "{name}",\n' for name in sorted([*PROJECT["classifiers"], *more]))
    urls = "".join(f'{k} = "{v.format(host=host, package=package)}"\n' for k, v in PROJECT["urls"].items())
    text = AUTHORS.sub(lambda found: f"{found[1]}authors = [{author}]\n", text, count=1)
    text = CLASSIFIERS.sub(lambda _: f"classifiers = [\n{classifiers}]\n", text, count=1)
    return URLS.sub(lambda _: f"[project.urls]\n{urls}\n", text, count=1)


def with_picture(text: str) -> str:
    """Return the text of the facade's README with its picture, or without while the host is a placeholder."""
    address = f"{PROJECT['host']}/raw/main/docs/gallery/neural_ode.png"
    picture = "" if PROJECT["placeholder"] else f"![A differential equation that a program has learned]({address})\n"
    return PICTURE.sub(lambda _: f"<!-- picture -->\n{picture}<!-- end of the picture -->\n", text)


def written() -> dict[Path, str]:
    """Return the files that hold what the project says, each with the text that it must have."""
    files = {folder / "pyproject.toml": folder.name for folder in folders()}
    texts = {path: with_metadata(path.read_text(encoding="utf-8"), package) for path, package in files.items()}
    readme = ROOT / "packages" / FACADE / "README.md"
    return {**texts, readme: with_picture(readme.read_text(encoding="utf-8"))}


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
