"""The public names of each package with their signatures: `python tests/docs/public_api.py` writes them down anew.

One idea: what is public is a text in the repository, `tests/docs/public_api/<module>.txt`, so that a change of it is a
line that a reviewer sees.  A line is a name, its kind, and its parameters without annotations and with their defaults.
The names alone, by module, are also a table of core, for the errors about a name of another package, and the page
`docs/names.md`.  `stubs.py` has the names for type checkers.
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

from stubs import write_stubs

import calque_as_jax
from calque_core.engine import install_command

calque_as_jax.uninstall()  # its names are read here, where jax's settings must not hold

MODULES = [
    "calque_pytree",
    "calque_core",
    "calque_core.config",
    "calque_core.debug",
    "calque_core.ref",
    "calque_core.extend",
    "calque_core.engine",
    "calque_core.engine.numpy_functions",
    "calque_core.lax",
    "calque_core.testing",
    "calque_autodiff",
    "calque_autodiff.checkpoint_policies",
    "calque_jet",
    "calque_batching",
    "calque_xla_backend",
    "calque_xla_backend.compilation_cache",
    "calque_xla_backend.distributed",
    "calque_xla_backend.multihost",
    "calque_linalg",
    "calque_linalg.kit",
    "calque_special",
    "calque_special.kit",
    "calque_signal",
    "calque_sparse",
    "calque_laplacian",
    "calque_harvest",
    "calque_bounds",
    "calque_as_jax",
    "calque_numpy",
    "calque_numpy.fft",
    "calque_numpy.linalg",
    "calque_numpy.nn",
    "calque_numpy.nn.initializers",
    "calque_numpy.scipy.krylov",
    "calque_numpy.scipy.linalg",
    "calque_numpy.scipy.signal",
    "calque_numpy.scipy.special",
    "calque_numpy.scipy.stats",
    "calque_numpy.scipy.grids",
    "calque_numpy.scipy.rotations",
    "calque_numpy.scipy.slerp",
    "calque_numpy.scipy.vq",
    "calque_numpy.random",
    "calque_numpy.image",
    "calque_numpy.segments",
    "calque",
    "calque.flatten_util",
    "calque.ode",
    "calque.scipy.optimize",
    "calque.testing",
    "calque.tree",
    "calque.tree_util",
]
# The modules in which a user looks for a name, those that an error recommends first in front.
TABLE = [
    "calque_pytree",
    "calque_core",
    "calque_core.lax",
    "calque_core.config",
    "calque_autodiff",
    "calque_jet",
    "calque_batching",
    "calque_xla_backend",
    "calque_linalg",
    "calque_special",
    "calque_signal",
    "calque_numpy",
    "calque",
    "calque_sparse",
    "calque_laplacian",
    "calque_harvest",
    "calque_bounds",
    "calque_as_jax",
]
ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "public_api"
SIBLING_NAMES = ROOT / "packages" / "core" / "src" / "calque_core" / "sibling_names.py"
PAGE = ROOT / "docs" / "names.md"
OPENING_END = "<!-- the names -->\n"  # what follows in the page is written by this program
ADDRESS = re.compile(r"<(?:function|class)? ?'?([\w.<>]+?)'?(?: object)?(?: at 0x\w+)?>")  # a default's, in its repr


def described(name: str) -> str:
    """Return the text of a module's public names, a line each; a class is followed by its public attributes."""
    module = importlib.import_module(name)
    lines = [line for public in sorted(names_of(module)) for line in lines_of(public, getattr(module, public))]
    return "\n".join(lines) + "\n"


def names_of(module: ModuleType) -> list[str]:
    """Return what `__all__` lists, or the functions and classes that a module without it defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    own = (name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__)
    return [name for name in own if not name.startswith("_")]


def lines_of(name: str, value: Any) -> list[str]:
    if inspect.ismodule(value):
        return [f"{name}: module"]
    if inspect.isclass(value):
        inspect.getmembers(value)  # the methods of arrays are loaded at their first use
        members = {member: each for member, each in vars(value).items() if not member.startswith("_")}
        return [
            f"{name}: class({', '.join(base.__name__ for base in value.__bases__)})",
            *(f"{name}.{member}{kind_of(each)}" for member, each in sorted(members.items())),
        ]
    return [f"{name}{kind_of(value)}"]


def kind_of(value: Any) -> str:
    """Return the parameters of what can be called, and the kind of anything else."""
    if isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    if not callable(value):
        return f": {type(value).__name__}"
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # some of C
        return "(...)"
    bare = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    text = str(signature.replace(parameters=bare, return_annotation=signature.empty))
    return re.sub(
        r"<(?:function|class|object|built-in function)? ?'?([\w.<>]+?)'?(?: object)?(?: at 0x\w+)?>", r"\1", text
    )


def names_by_module() -> dict[str, list[str]]:
    """Return the public names of each module of `TABLE`; a second path to one value is left out."""
    paths: dict[tuple[str, int], str] = {}
    for path in TABLE:
        module = importlib.import_module(path)
        modules = getattr(module, "_UNLISTED", {}).get(path, "").split(", ")
        for name in sorted(name for name in {*names_of(module), *modules} if name and not name.startswith("_")):
            paths.setdefault((name, id(getattr(module, name))), path)
    return {path: sorted(name for (name, _), place in paths.items() if place == path) for path in TABLE}


def sibling_names() -> str:
    """Return the source of the module of core that has the table."""
    lines = [
        '"""The public names of the packages of calque, by module: for the error about a name of another package.',
        "",
        "`python tests/docs/public_api.py` writes this module; a test compares it with the packages.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "NAMES = {",
    ]
    for path, names in names_by_module().items():
        pieces = textwrap.wrap(" ".join(names), 108)
        texts = [f'        "{piece} "' for piece in pieces[:-1]] + [f'        "{pieces[-1]}"']
        line = f'    "{path}": "{pieces[0]}",'
        fits = len(pieces) == 1 and len(line) <= 120
        lines += [line] if fits else [f'    "{path}": (', *texts, "    ),"]
    return "\n".join([*lines, "}", ""])


def page() -> str:
    """Return the text of the page that says which package has a name."""
    return (
        PAGE.read_text(encoding="utf-8").partition(OPENING_END)[0]
        + OPENING_END
        + "".join(
            f"\n## {path}\n\n`{install_command(path)}`\n\n{wrapped(names)}\n"
            for path, names in names_by_module().items()
        )
    )


def wrapped(names: list[str]) -> str:
    return textwrap.fill(", ".join(f"`{name}`" for name in names), 118, break_long_words=False)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in MODULES:
        (FOLDER / f"{name}.txt").write_text(described(name), encoding="utf-8")
    SIBLING_NAMES.write_text(sibling_names(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
    write_stubs()


if __name__ == "__main__":
    main()
