"""The names in stored programs: of primitives, and of classes and functions of ours.

One idea: data chooses from tables, and never says which attribute of a module to take.  A primitive is looked up among
the declared ones; the module that declares it is imported if it is ours, or belongs to a package that depends on core.

Read next: `values.py`, which stores parameters with these names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from calque_core.distributions import install_advice
from calque_core.late import import_at_rest, late_function
from calque_core.primitives.primitive import Primitive
from calque_core.primitives.rules import primitives
from calque_core.sibling_names import NAMES

_DIMENSIONS = "calque_core.ops.indexing"
RECORDS = {
    "GatherDimensionNumbers": f"{_DIMENSIONS}.gather",
    "ScatterDimensionNumbers": f"{_DIMENSIONS}.scatter",
    "DotAlgorithm": "calque_core.ops.reductions.dot_algorithms",
    "ConvDimensionNumbers": "calque_signal.ops.convolution_layouts",
    "ArrayAttribute": "calque_core.ops.calls.ffi",
    "AbstractMesh": "calque_core.meshes.mesh",
    "ByName": "calque_autodiff.checkpoint_policies",
    "Either": "calque_autodiff.checkpoint_policies",
}
ENUMS = {
    "Precision": "calque_core.ops.reductions.precision",
    "DotAlgorithmPreset": "calque_core.ops.reductions.dot_algorithms",
    "GatherScatterMode": f"{_DIMENSIONS}.windows",
    "RoundingMethod": "calque_core.ops.elementwise.rounding",
    "FftType": "calque_signal.ops.fft",
}
FUNCTIONS = dict.fromkeys(
    ("everything_saveable", "nothing_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable"),
    "calque_autodiff.checkpoint_policies",
)
COMPILERS = {"XlaCompiler": "calque_xla_backend.compiler"}


def is_named(kind: Any, table: dict[str, str]) -> bool:
    """Tell whether a class or a function is one that `table` lists."""
    name: str | None = getattr(kind, "__name__", None)
    return name in table and table[name] == kind.__module__


def named(name: Any, table: dict[str, str]) -> Any:
    """Return the class or the function that `table` lists under a name.

    Raises: ValueError if there is none, or its package is not installed.
    """
    if type(name) is not str or name not in table:
        raise ValueError(f"{name!r} is none of {', '.join(table)}. Read the program with the release that wrote it.")
    return getattr(_import(table[name]), name)


def fields_of(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a record, of a data class, or of a class with slots."""
    return tuple(getattr(kind, "_fields", None) or getattr(kind, "__dataclass_fields__", None) or kind.__slots__)


def default_compiler() -> Any:
    """Return the compiler of `calque_xla_backend.jit` without options.

    Raises: ValueError if the package is not installed.
    """
    return _import(COMPILERS["XlaCompiler"]).compiler_of()


def find_primitive(name: Any, family: Any = None) -> Primitive:
    """Return the primitive of a name; of several, the one that the module `family` declares.

    Raises: ValueError if there is none, or the family does not tell which one it is.
    """
    if type(name) is not str or not (family is None or type(family) is str):
        raise ValueError(f"{name!r} of the module {family!r} is no name of a primitive. Write two strings.")
    for load in (_load_nothing, _load_family, _load_listed):
        load(name, family)
        declared: list[Primitive] = [p for p in list(primitives) if p.name == name]
        own = [p for p in declared if p.family == family]
        if len(own) == 1:
            return own[0]
        if (declared and load is _load_listed) or (declared and family is None):
            return _only(name, declared)
    raise ValueError(
        f"the primitive {name!r}{f' of the module {family}' if family else ''} is unknown. {_advice(family)}"
    )


def _only(name: str, declared: list[Primitive]) -> Primitive:
    if len(declared) > 1:
        families = ", ".join(sorted(p.family for p in declared))
        raise ValueError(f"several modules declare a primitive {name!r}: {families}. Give one of these modules.")
    return declared[0]


def _advice(family: str | None) -> str:
    package = (family or "").partition(".")[0]
    if not package or package == "__main__":
        return "Import the module that declares it first."
    if package in NAMES and package in sys.modules:
        return "Read the program with the release that wrote it."
    return f"Import {package} first. {install_advice(package)}"


def _load_nothing(name: str, family: str | None) -> None:
    """Look among the primitives that are declared already."""


def _load_family(name: str, family: str | None) -> None:
    """Import the module that declares the primitive, if its package is ours or depends on core."""
    if family and (family.partition(".")[0] in NAMES or _depends_on_core(family.partition(".")[0])):
        _import_if_there(family)


def _load_listed(name: str, family: str | None) -> None:
    """Import the modules that list the name of the primitive, or all of `lax`."""
    places = [module for module, names in NAMES.items() if f"{name}_p" in names.split()]
    for module in places:
        getattr(_import(module), f"{name}_p")
    if not places:
        lax = import_at_rest("calque_core.lax")
        for other in NAMES["calque_core.lax"].split():
            if other.endswith("_p"):
                getattr(lax, other)


def _depends_on_core(package: str) -> bool:
    """Tell whether an installed distribution that has the module `package` requires `calque-core`."""
    owners = _packages_distributions().get(package, ())
    return any(requirement.startswith("calque-core") for owner in owners for requirement in _requires(owner) or ())


def _import(module: str) -> Any:
    try:
        return import_at_rest(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        package = module.partition(".")[0]
        raise ValueError(f"the program needs the package {package}. {install_advice(package)}") from error


def _import_if_there(module: str) -> None:
    """Import a module; there may be none of this name.  Raises: ValueError if it lacks another package."""
    try:
        import_at_rest(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        if not (module == missing or module.startswith(f"{missing}.")):
            raise ValueError(f"the module {module} needs the package {missing}. {install_advice(missing)}") from error
    except (ValueError, TypeError):
        return  # the text is no name of a module


_packages_distributions: Callable[..., Any] = late_function("importlib.metadata", "packages_distributions")
_requires: Callable[..., Any] = late_function("importlib.metadata", "requires")
