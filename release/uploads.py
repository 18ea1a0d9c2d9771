"""List the files to upload, in the order in which an index must get them: `python release/uploads.py`.

One idea: a package goes after the packages that it requires, so that whoever installs it meanwhile finds them.
`python release/uploads.py --only core-v0.2.1` removes the files of other packages first: the tag is of one package.
"""

from __future__ import annotations

import re
import sys
import tomllib
from graphlib import TopologicalSorter

from metadata import ROOT, folders

DIST = ROOT / "dist"


def requirements() -> dict[str, set[str]]:
    """Return the distributions of ours, each with those that it requires; extras count."""
    tables = [tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"] for folder in folders()]
    needed = {}
    for table in tables:
        extras = [line for lines in table.get("optional-dependencies", {}).values() for line in lines]
        names = [re.split(r"[\[<>=]", line)[0] for line in [*table["dependencies"], *extras]]
        needed[table["name"]] = {name for name in names if name.startswith("calque") and name != table["name"]}
    return needed


def distribution_of(tag: str) -> str | None:
    """Return the distribution that a tag names, or None for a release of all packages.

    >>> distribution_of("core-v0.2.1"), distribution_of("v0.2.0")
    ('calque-core', None)
    """
    package = tag.rpartition("-v")[0]
    if not package:
        return None
    path = ROOT / "packages" / package / "pyproject.toml"
    return str(tomllib.loads(path.read_text(encoding="utf-8"))["project"]["name"])


def keep_only(tag: str) -> None:
    """Remove the files of packages that a tag does not name."""
    kept = distribution_of(tag)
    for path in DIST.iterdir():
        if kept is not None and path.name.partition("-")[0] != kept.replace("-", "_"):
            path.unlink()


def main(*args: str) -> None:
    if args[:1] == ("--only",):
        keep_only(args[1])
    print("Upload in this order:")
    for name in TopologicalSorter(requirements()).static_order():
        for path in sorted(DIST.glob(f"{name.replace('-', '_')}-*")):
            print(f"  {path.relative_to(ROOT)}  {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
