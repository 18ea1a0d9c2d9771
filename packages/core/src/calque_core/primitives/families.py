"""Families of rules: modules of rules that are imported when a program first asks for one of their rules.

One idea: a primitive belongs to the family of the module that declares it, `calque_core.ops.indexing.sort`, and a
package of rules has a module of the same path, `calque_jet.rules.indexing.sort`.  The path is the search: a program
imports the rules of the families that it uses, and nobody lists families.

Read next: `rules.py`, the tables of rules; `late.py`, the same for names.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from calque_core.late import import_at_rest, late_function

Kind = str | tuple[str, str]
Column = tuple[str, str]  # a package of rules, and the package of the primitives that it serves

columns: dict[str, tuple[Column, ...]] = {}  # by kind
_packages = {"calque_core.primitives", "calque_core.ops"}  # of columns, and of the primitives that they serve
readers: dict[str, str] = {}  # by package of rules: the package that reads them, which their modules import
_absent: set[str] = set()  # modules that a look-up has not found


class AdaptedRules(dict[Any, Any]):
    """The rules of one primitive, by kind, as the machinery calls them; a kind without a rule gives None.

    The first look-up of a kind imports the rules of the primitive's family; another one takes as long as in any dict.
    Rules of a module wait in `late` for its end: another thread may ask before, and an interrupt may end the import.
    """

    __slots__ = ("family", "late")

    def __init__(self, family: str) -> None:
        super().__init__()
        self.family = family
        self.late: dict[Kind, Any] = {}

    def __missing__(self, kind: Kind) -> Any:
        import_rules(self.family, kind)
        return self.setdefault(kind, self.late.get(kind))

    def put(self, kind: Kind, rule: Any, module: str) -> None:
        """Store a rule that the body of a module defines."""
        if kind not in self and module in rule_modules(self.family, kind):
            self.late[kind] = rule
        else:
            self[kind] = rule

    def drop(self, kind: Kind) -> None:
        """Remove the rule of a kind, or the answer that there is none."""
        self.pop(kind, None)
        self.late.pop(kind, None)


def general_kind(kind: Kind) -> str:
    """Return the kind without its platform."""
    return kind if isinstance(kind, str) else kind[0]


def declare_column(package: str, of: str, kinds: Iterable[str], reader: str | None = None) -> None:
    """Declare that a package has rules of some kinds for the primitives that the package `of` declares.

    `reader` is a package that their modules import; where it is not installed, there are no rules.
    """
    _packages.update((package, of))
    if reader is not None:
        readers[package] = reader
    for kind in kinds:
        column = columns.get(kind, ())
        if (package, of) not in column:
            columns[kind] = (*column, (package, of))


def rule_modules(family: str, kind: Kind) -> Iterator[str]:
    """Yield the names of the modules with rules of one kind for the primitives of a family; some may not exist.

    >>> from calque_core.primitives.families import columns, declare_column, rule_modules
    >>> declare_column("my_package.rules", "calque_core.ops", ["spectrum"])
    >>> list(rule_modules("calque_core.ops.fourier", "spectrum"))
    ['my_package.rules.fourier']
    >>> del columns["spectrum"]
    """
    for package, of in _readable_columns(kind):
        if family == of or family.startswith(f"{of}."):
            yield package + family[len(of) :]


def _readable_columns(kind: Kind) -> Iterator[Column]:
    for column in columns.get(general_kind(kind), ()):
        reader = readers.get(column[0])
        if reader is None or sys.modules.get(reader) is not None or _find_spec(reader) is not None:
            yield column


def import_rules(family: str, kind: Kind) -> None:
    """Import the modules with rules of one kind for the primitives of a family."""
    for module in rule_modules(family, kind):
        if module not in _absent:
            _import_if_there(module)


def _import_if_there(module: str) -> None:
    try:
        import_at_rest(module)
    except ModuleNotFoundError as error:
        if not (error.name == module or module.startswith(f"{error.name}.")):
            raise  # a module of rules lacks something that it imports
        _absent.add(module)


def import_rules_to_change(family: str, kind: Kind, declaring: str) -> None:
    """Import the rules of one kind before a definition beside them, unless it is in a module of the family.

    `declaring` is the module of the definition.
    """
    if declaring != family and declaring not in rule_modules(family, kind):
        import_rules(family, kind)


def import_column(kind: Kind) -> None:
    """Import all modules with rules of one kind."""
    for package, _ in _readable_columns(kind):
        for module in modules_of(package):
            import_at_rest(module)


def modules_of(package: str) -> list[str]:
    """Return the names of the modules of a package, those of its folders included, in order; or that of a module."""
    path = getattr(import_at_rest(package), "__path__", None)
    if path is None:
        return [package]
    return sorted(found.name for found in _walk_packages(path, f"{package}.") if not found.ispkg)


def import_family(family: str) -> None:
    """Import all modules with rules for the primitives of a family."""
    for kind in list(columns):
        import_rules(family, kind)


def is_family_module(module: str) -> bool:
    """Tell whether a module of this name declares a family of primitives with columns, or holds its rules.

    Nobody uses a primitive, or asks for a rule, before the import of such a module has ended.
    """
    return any(module.startswith(f"{package}.") for package in _packages)


def declaring_module() -> str:
    """Return the name of the module whose body runs, the innermost one; '' if none does."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return "" if frame is None else frame.f_globals.get("__name__", "")


_find_spec = late_function("importlib.util", "find_spec")
_walk_packages = late_function("pkgutil", "walk_packages")  # who asks for a whole table needs it, and no program
