"""Families of rules: modules of rules that are imported when a program first asks for one of their rules.

One idea: a primitive belongs to the family of the module that declares it, `ops/fft.py`, and a package of rules has a
module of that name, `rules/fft.py`.  So a program imports the rules of the families that it uses.

Read next: `rules.py`, the tables of rules; `late.py`, the same for names.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any

from calque_core.late import import_at_rest

Kind = str | tuple[str, str]
Families = frozenset[str]

columns: dict[str, dict[str, Families]] = {}  # by kind, then by package of rules: the families that have a module there
_of_package: dict[str, Families] = {}  # by package of rules: the families that have a module there


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
        if kind not in self and _imports(self.family, kind, module):
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


def declare_column(package: str, families: Iterable[str], kinds: Iterable[str]) -> None:
    """Declare that a package has rules of some kinds for core's primitives, in one module for each family.

    The module `package.family` is imported at the first look-up of a rule for a primitive of that family.
    """
    new = frozenset(families)
    _of_package[package] = _of_package.get(package, new) | new
    for kind in kinds:
        column = columns.setdefault(kind, {})
        column[package] = column.get(package, new) | new


def import_rules(family: str, kind: Kind) -> None:
    """Import the modules with rules of one kind for the primitives of a family."""
    for package, families in columns.get(general_kind(kind), _NO_COLUMN).items():
        if family in families:
            import_at_rest(f"{package}.{family}")


def _imports(family: str, kind: Kind, module: str) -> bool:
    """Tell whether the first look-up of a rule imports a module."""
    package, _, name = module.rpartition(".")
    return name == family and family in columns.get(general_kind(kind), _NO_COLUMN).get(package, ())


_NO_COLUMN: dict[str, Families] = {}


def import_rules_to_change(family: str, kind: Kind, declaring: str) -> None:
    """Import the rules of one kind before a definition beside them, unless it is in a module of the family.

    `declaring` is the module of the definition.
    """
    if declaring.rpartition(".")[2] != family:
        import_rules(family, kind)


def import_column(kind: Kind) -> None:
    """Import all modules with rules of one kind."""
    for package, families in columns.get(general_kind(kind), _NO_COLUMN).items():
        for family in sorted(families):
            import_at_rest(f"{package}.{family}")


def import_family(family: str) -> None:
    """Import all modules with rules for the primitives of a family."""
    for kind in list(columns):
        import_rules(family, kind)


def is_family_module(module: str) -> bool:
    """Tell whether a module of this name declares a family of core's primitives, or holds its rules.

    Nobody uses a primitive, or asks for a rule, before the import of such a module has ended.
    """
    package, _, family = module.rpartition(".")
    return package in ("calque_core.ops", "calque_core.primitives") or family in _of_package.get(package, ())


def declaring_module() -> str:
    """Return the name of the module whose body runs, the innermost one; '' if none does."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return "" if frame is None else frame.f_globals.get("__name__", "")
