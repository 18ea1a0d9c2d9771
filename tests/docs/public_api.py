"""The public names of each package with their signatures: `python tests/docs/public_api.py` writes them down anew.

One idea: what is public is a text in the repository, `tests/docs/public_api/<module>.txt`, so that a change of it is a
line that a reviewer sees.  A line is a name, its kind, and its parameters without annotations and with their defaults.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

MODULES = [
    "calque_pytree",
    "calque_core",
    "calque_core.config",
    "calque_core.debug",
    "calque_core.extend",
    "calque_core.extend.numpy_functions",
    "calque_core.lax",
    "calque_core.lax.linalg",
    "calque_core.testing",
    "calque_autodiff",
    "calque_autodiff.checkpoint_policies",
    "calque_jet",
    "calque_batching",
    "calque_xla_backend",
    "calque_xla_backend.compilation_cache",
    "calque_xla_backend.distributed",
    "calque_xla_backend.multihost",
    "calque_numpy",
    "calque_numpy.fft",
    "calque_numpy.linalg",
    "calque_numpy.nn",
    "calque_numpy.nn.initializers",
    "calque_numpy.scipy.linalg",
    "calque_numpy.scipy.special",
    "calque_numpy.random",
    "calque_numpy.segments",
    "calque",
    "calque.flatten_util",
    "calque.testing",
    "calque.tree",
    "calque.tree_util",
]
FOLDER = Path(__file__).parent / "public_api"
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


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in MODULES:
        (FOLDER / f"{name}.txt").write_text(described(name), encoding="utf-8")


if __name__ == "__main__":
    main()
