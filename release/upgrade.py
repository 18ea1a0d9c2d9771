"""Test the example package of the last release against the new core: `python release/upgrade.py`.

One idea: a package that a stranger built on the last release must go on working.  The page `docs/package_on_core.md`
shows one, `stencil`; its text as of the last tag is written to a folder, built into a wheel, installed beside the new
wheels, and its tests run.  Before the first tag there is only the page of this commit.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from metadata import ROOT

PAGE = "docs/package_on_core.md"
FILE = re.compile(r"^```(?:python|toml)\n# (\S+/\S+\.py|\S+\.toml)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def git(*args: str) -> str:
    """Return what a command of git writes, or nothing where it fails."""
    done = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def page_of_last_release() -> tuple[str, str]:
    """Return the text of the page at the last tag, and the name of the tag; of this commit where there is no tag.

    The tag of the commit itself is not the last release: a release is tested before it is tagged, and after.
    """
    merged = git("tag", "--merged", "HEAD", "--sort=-v:refname", "v*").split()
    tags = [tag for tag in merged if git("rev-list", f"{tag}..HEAD")]
    return (git("show", f"{tags[0]}:{PAGE}"), tags[0]) if tags else ((ROOT / PAGE).read_text(encoding="utf-8"), "")


def main() -> None:
    text, tag = page_of_last_release()
    print(f"stencil as of {tag}" if tag else "no earlier tag v0.1.0: stencil as of this commit")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, code in FILE.findall(text):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(code, encoding="utf-8")
        subprocess.run(["hatchling", "build", "--target", "wheel"], cwd=folder, check=True)
        [wheel] = (folder / "dist").glob("*.whl")
        subprocess.run([sys.executable, "-m", "pip", "install", "--no-deps", "--quiet", str(wheel)], check=True)
        pytest = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
        subprocess.run([*pytest, str(folder / "tests")], check=True)


if __name__ == "__main__":
    main()
