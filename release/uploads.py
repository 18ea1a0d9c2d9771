"""List the files to upload, in the order in which an index must get them: `python release/uploads.py`.

One idea: a package goes after the packages that it requires, so that whoever installs it meanwhile finds them.
"""

from __future__ import annotations

import re
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


def main() -> None:
    print("Upload in this order:")
    for name in TopologicalSorter(requirements()).static_order():
        for path in sorted(DIST.glob(f"{name.replace('-', '_')}-*")):
            print(f"  {path.relative_to(ROOT)}  {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
