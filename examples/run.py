"""Runs the programs of this folder and keeps what they print, beside their pictures: `python examples/run.py`.

`python examples/run.py kalman_filter` runs one of them, if needed.  The gallery of the documentation shows
`output/<program>.txt` and `output/<program>.png`.  One idea: a program runs again only when its text, a module that it
imports from here, or a package of calque has changed; so documentation that is built twice runs each program once.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

EXAMPLES = Path(__file__).parent
OUTPUT = EXAMPLES / "output"
MAIN = '\nif __name__ == "__main__":\n    main()\n'  # how each program ends, and no module
PACKAGES = ["pytree", "core", "autodiff", "jet", "batching", "xla_backend", "linalg", "special", "signal", "numpy"]
PACKAGES += ["sparse", "laplacian", "harvest", "bounds", "as_jax"]
IMPORT = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)
DISTRIBUTION = re.compile(r"^[\w-]+", re.MULTILINE)
LIBRARIES = EXAMPLES.parent / "tests" / "clients" / "libraries.txt"  # written for jax


def programs() -> list[str]:
    """Return the names of all programs."""
    return sorted(path.stem for path in EXAMPLES.glob("*.py") if path.read_text(encoding="utf-8").endswith(MAIN))


def renew(names: list[str]) -> None:
    """Run those of the programs that have changed since they ran."""
    changed = [name for name in names if recorded_key(name) != key(name)]
    if changed:
        check_requirements(EXAMPLES / "requirements.txt", "-r examples/requirements.txt")
    if any("import calque_as_jax" in (EXAMPLES / f"{name}.py").read_text(encoding="utf-8") for name in changed):
        check_requirements(LIBRARIES, "--no-deps -r tests/clients/libraries.txt")
    for name in changed:
        print(f"examples/{name}.py: {run(name):.1f} s", flush=True)


def run(name: str) -> float:
    """Run one program, keep what it prints, and return the seconds that it takes; leave if it fails."""
    path, key_before, start = EXAMPLES / f"{name}.py", key(name), time.perf_counter()  # a text may change meanwhile
    environment = {**os.environ, "CALQUE_CACHE": "off"}  # a reader's first run compiles, and so does this one
    process = subprocess.run([sys.executable, path], capture_output=True, text=True, env=environment, check=False)  # noqa: S603, our own file
    seconds = time.perf_counter() - start
    if process.returncode:
        sys.exit(f"{process.stdout}{process.stderr}\nexamples/{name}.py failed. Run it alone to see why.")
    OUTPUT.mkdir(exist_ok=True)
    session = f"$ time python examples/{name}.py\n{process.stdout}\nreal {seconds:.1f} s\n"
    (OUTPUT / f"{name}.txt").write_text(session, encoding="utf-8")
    (OUTPUT / f"{name}.key").write_text(key_before, encoding="utf-8")
    return seconds


def check_requirements(path: Path, options: str) -> None:
    """Leave with the command that installs what the programs need, if a distribution is missing."""
    wanted = DISTRIBUTION.findall(path.read_text(encoding="utf-8"))
    missing = [name for name in wanted if not is_installed(name)]
    if missing:
        sys.exit(
            f"The programs of examples/ need {', '.join(missing)}, which this environment does not have. "
            f"Run `python -m pip install {options}`."
        )


def is_installed(distribution: str) -> bool:
    return any(True for _ in importlib.metadata.distributions(name=distribution))


# The key of a program


def recorded_key(name: str) -> str:
    """Return the key of the last run, or an empty text if a result of it is gone."""
    path = OUTPUT / f"{name}.key"
    draws = "save(figure, __file__)" in (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    results = [OUTPUT / f"{name}.txt", *([OUTPUT / f"{name}.png"] if draws else [])]
    return path.read_text(encoding="utf-8") if all(result.exists() for result in [path, *results]) else ""


def key(name: str) -> str:
    """Return a digest of all texts that a program's results depend on."""
    own = [*with_modules(name), EXAMPLES / "gallery.mplstyle"]
    return digest([digest([path.read_bytes() for path in own]).encode(), library_key().encode()])


def with_modules(name: str) -> list[Path]:
    """Return the path of a program, and of each module of this folder that it imports, directly or not."""
    paths = [EXAMPLES / f"{name}.py"]
    for path in paths:
        modules = (EXAMPLES / f"{module}.py" for module in IMPORT.findall(path.read_text(encoding="utf-8")))
        paths += [module for module in modules if module.exists() and module not in paths]
    return paths


@cache
def library_key() -> str:
    """Return a digest of the sources of the installed packages."""
    specs = [importlib.util.find_spec(name) for name in ["calque", *(f"calque_{package}" for package in PACKAGES)]]
    folders = [Path(folder) for spec in specs if spec for folder in spec.submodule_search_locations or ()]
    return digest([path.read_bytes() for folder in folders for path in sorted(folder.rglob("*.py"))])


def digest(texts: list[bytes]) -> str:
    result = hashlib.sha256()
    for text in texts:
        result.update(hashlib.sha256(text).digest())
    return result.hexdigest()


if __name__ == "__main__":
    renew(sys.argv[1:] or programs())
