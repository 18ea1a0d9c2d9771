"""What must be true before packages are built: one minor number, dated changelogs, the same metadata everywhere.

One idea: a check returns its faults as sentences, and `python release/checks.py` prints them and fails if there is one.
A date is asked for where the commit has the tag of a release; elsewhere a changelog without a date is only named.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from metadata import ROOT, folders, written

VERSION = re.compile(r'^__version__ = "(\d+)\.(\d+)\.(\d+)"$', re.MULTILINE)
HEADING = re.compile(r"^## (\S+) \((.+)\)$", re.MULTILINE)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def version_of(folder: Path) -> str:
    """Return the version of the package in a folder, as its module says it."""
    [source] = (folder / "src").glob("*/__init__.py")
    found = VERSION.search(source.read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f'{source} has no line __version__ = "1.2.3". Add it.')
    return ".".join(found.groups())


def newest_entry(changelog: str) -> tuple[str, str]:
    r"""Return the version and the date of a changelog's first entry; the date may be the word unreleased.

    >>> newest_entry("# Changes\n\n## 0.2.0 (2027-01-31)\n\n## 0.1.0 (2026-11-28)\n")
    ('0.2.0', '2027-01-31')
    """
    found = HEADING.search(changelog)
    return (found[1], found[2]) if found else ("", "")


def faults_of_versions(versions: dict[str, str]) -> Iterator[str]:
    """Yield a sentence if the packages have several minor numbers.

    >>> list(faults_of_versions({"core": "0.2.0", "jet": "0.1.3"}))
    ['core has 0.2, jet has 0.1: all packages share the minor number. Raise the lower ones.']
    """
    minors = {package: version.rpartition(".")[0] for package, version in versions.items()}
    if len(set(minors.values())) > 1:
        listed = ", ".join(f"{package} has {minor}" for package, minor in minors.items())
        yield f"{listed}: all packages share the minor number. Raise the lower ones."


def faults_of_changelog(package: str, version: str, changelog: str) -> Iterator[str]:
    """Yield a sentence if the newest entry of a changelog is of another version, or has no date.

    >>> list(faults_of_changelog("jet", "0.1.1", "## 0.1.0 (2026-11-28)"))
    ["jet has version 0.1.1, but its changelog's first entry is of 0.1.0. Add an entry."]
    """
    entry, date = newest_entry(changelog)
    if entry != version:
        yield f"{package} has version {version}, but its changelog's first entry is of {entry}. Add an entry."
    elif not DATE.fullmatch(date):
        yield f"{package} {version} is '{date}' in its changelog. Write the day of the release, as 2026-11-28."


def tags() -> list[str]:
    """Return the tags of releases on the current commit."""
    command = ["git", "tag", "--points-at", "HEAD", "v*", "*-v*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split()


def faults(*, dated: bool) -> Iterator[str]:
    """Yield each fault; without `dated`, a changelog may still be of an unreleased version."""
    versions = {folder.name: version_of(folder) for folder in folders()}
    yield from faults_of_versions(versions)
    for package, version in versions.items():
        text = (ROOT / "packages" / package / "CHANGELOG.md").read_text(encoding="utf-8")
        if dated or newest_entry(text) != (version, "unreleased"):
            yield from faults_of_changelog(package, version, text)
    for path, text in written().items():
        if path.read_text(encoding="utf-8") != text:
            yield f"{path.relative_to(ROOT)} differs from release/project.toml. Run python release/metadata.py."


def main() -> None:
    released = tags()
    sentences = list(faults(dated=bool(released)))
    if sentences:
        sys.exit("\n".join(sentences))
    state = f"the release {' '.join(released)}" if released else "no release: changelogs may be without a date"
    print(f"versions, changelogs and metadata agree ({state})")


if __name__ == "__main__":
    main()
