"""Install every built distribution as an index would serve it, and use it: `python release/install.py 3.12`.

One idea: the only index is a folder of files, so that what a user would get is what was built.  Each piece goes alone
into an empty environment: it says its version, its doctests pass, its README is a doctest, and a few modules of tests
from its source archive pass.  Where a piece is missing, the message names the command that installs it: the command is
run, and the program once more.  At the end all pieces go into one environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from checks import version_of
from metadata import ROOT, folders
from sizes import installed_megabytes, seconds_of_import

DIST = ROOT / "dist"
TEST_TOOLS = ["pytest", "hypothesis"]
FOR_EXAMPLES = {"sparse": ["calque-autodiff"]}  # extras that the examples of a package need
MODULES_OF_TESTS = 3  # of each source archive, other ones each day; `nox` tests all of them from wheels
# A piece, a program that needs another one, and the command of its message.
MISSING = [
    ("core", "from calque_core import lax; lax.fft", "pip install calque-signal"),
    ("core", "from calque_core import lax; lax.linalg.cholesky", "pip install calque-linalg"),
    ("core", "from calque_core import lax; lax.digamma", "pip install calque-special"),
    ("calque", "import calque; calque.jit(lambda x: x)(1.0)", 'pip install "calque-transforms[xla]"'),
]


class Environment:
    """An empty environment of one Python, which installs from folders alone."""

    def __init__(self, version: str, folder: Path, links: list[Path]) -> None:
        self.folder, self.links = folder, links
        python = shutil.which(f"python{version}") or f"python{version}"
        subprocess.run(["uv", "venv", "--quiet", "--no-python-downloads", "--python", python, str(folder)], check=True)
        scripts = folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = str(scripts / "python")

    def install(self, *requirements: str) -> float:
        """Install distributions; return the seconds that it took."""
        links = [arg for link in self.links for arg in ("--find-links", str(link))]
        command = ["uv", "pip", "install", "--quiet", "--no-index", *links, "--python", self.python, *requirements]
        start = time.perf_counter()
        subprocess.run(command, check=True)
        return time.perf_counter() - start

    def run(self, *args: str, fails: bool = False) -> str:
        """Run Python outside of the repository, without the user's settings; return what it wrote."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CALQUE"))}
        clean["CALQUE_CACHE"] = "off"
        done = subprocess.run(
            [self.python, *args], cwd=self.folder, env=clean, capture_output=True, text=True, check=False
        )
        text = done.stdout + done.stderr
        if (done.returncode != 0) is not fails:
            sys.exit(f"python {' '.join(args)}\nended with status {done.returncode}:\n{text}")
        return text


def distribution(package: str) -> str:
    """Return the name of the distribution of a folder of packages."""
    return "calque-transforms" if package == "calque" else f"calque-{package.replace('_', '-')}"


def module(package: str) -> str:
    """Return the name by which a package is imported."""
    return "calque" if package == "calque" else f"calque_{package}"


def unpacked(package: str, folder: Path) -> Path:
    """Unpack the source archive of a package; return its folder."""
    [archive] = DIST.glob(f"{distribution(package).replace('-', '_')}-*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    [source] = folder.glob(f"{distribution(package).replace('-', '_')}-*")
    return source


def examples_of(readme: Path) -> Path:
    """Return a copy of a README that doctest can read: without the fences of its blocks."""
    lines = ["" if line.startswith("```") else line for line in readme.read_text(encoding="utf-8").splitlines()]
    copy = readme.with_name("examples.txt")
    copy.write_text("\n".join(lines), encoding="utf-8")
    return copy


def tests_of_today(source: Path) -> list[str]:
    """Return some modules of tests of a source archive, other ones each day."""
    modules = sorted(map(str, (source / "tests").glob("test_*.py")))
    day = datetime.now(UTC).toordinal()
    return sorted({modules[(day + i) % len(modules)] for i in range(MODULES_OF_TESTS)})


def check_alone(version: str, package: str, links: list[Path], folder: Path) -> str:
    """Install one package and what it requires, and test it; return the row of the table of sizes."""
    environment = Environment(version, folder / "alone", links)
    seconds = environment.install(distribution(package))
    megabytes = installed_megabytes(environment.folder)
    name, expected = module(package), version_of(ROOT / "packages" / package)
    found = environment.run("-c", f"import {name}; print({name}.__version__)").strip()
    if found != expected:
        sys.exit(f"{name} says the version {found}, but {expected} was built")
    milliseconds = seconds_of_import(environment.python, name) * 1e3
    environment.install(*TEST_TOOLS, *FOR_EXAMPLES.get(package, []))
    source = unpacked(package, folder)
    flags = "doctest_optionflags=NUMBER NORMALIZE_WHITESPACE ELLIPSIS"
    pytest = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "-o", flags)
    environment.run(*pytest, "--doctest-modules", "--doctest-ignore-import-errors", "--pyargs", name)
    environment.run(*pytest, "--doctest-glob=examples.txt", str(examples_of(source / "README.md")))
    environment.run(*pytest, f"--rootdir={source}", *tests_of_today(source))
    [wheel] = DIST.glob(f"{distribution(package).replace('-', '_')}-*.whl")
    kilobytes = wheel.stat().st_size / 1e3
    return f"{distribution(package):22}{kilobytes:8.0f}{milliseconds:10.0f}{seconds:10.1f}{megabytes:8.1f}"


def check_missing(version: str, links: list[Path], folder: Path) -> None:
    """Meet each message about a missing piece, do what it says, and run the program again."""
    for number, (package, program, command) in enumerate(MISSING):
        environment = Environment(version, folder / f"missing{number}", links)
        environment.install(distribution(package))
        message = environment.run("-c", program, fails=True).strip().splitlines()[-1]
        if command not in message:
            sys.exit(f"{program}\nwithout its package says: {message}\nIt must name the command: {command}")
        environment.install(command.removeprefix("pip install ").strip('"'))
        environment.run("-c", program)
        print(f"  {message}")


def main(version: str, third_party: Path) -> None:
    links = [DIST, third_party]
    print(f"Python {version}, each package alone: kB of its wheel, ms of import beyond NumPy's, s and MB of an install")
    for package in (path.name for path in folders()):
        with tempfile.TemporaryDirectory() as folder:
            print(check_alone(version, package, links, Path(folder)), flush=True)
    print("Messages about missing pieces; what they say was done, and the program ran:")
    with tempfile.TemporaryDirectory() as folder:
        check_missing(version, links, Path(folder))
        together = Environment(version, Path(folder) / "together", links)
        together.install(*(distribution(path.name) for path in folders()))
        together.run("-c", "; ".join(f"import {module(path.name)}" for path in folders()))
    print("All packages install and import together.")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
