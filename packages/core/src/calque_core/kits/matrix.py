"""The rule matrix: for each primitive and kind, whether there is a rule, and the reason if there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from calque_core import lax
from calque_core.late import import_at_rest
from calque_core.primitives.primitive import Primitive

FAMILIES = (  # packages above core whose primitives are operations, too
    "calque_linalg",
    "calque_signal",
    "calque_special",
)  # fmt: skip
KINDS = ("impl", "abstract_eval", "jvp", "transpose", "jet", "batch", "lowering")
_ALTERNATIVES = {
    "batch": ("axis_batch", "decomposition"), "jvp": ("decomposition",), "jet": ("decomposition",),
    "lowering": ("decomposition",),
}  # fmt: skip


def standard_primitives() -> list[Primitive]:
    """Return the primitives of `calque_core.lax`, and of the families of calque that are installed, by name."""
    return _primitives_of([lax, *_installed_families()])


def core_primitives() -> list[Primitive]:
    """Return the primitives that core itself declares, by name."""
    return _primitives_of([lax])


def _primitives_of(modules: Sequence[ModuleType]) -> list[Primitive]:
    values = [getattr(module, name) for module in modules for name in module.__all__]
    return sorted({p for p in values if isinstance(p, Primitive)}, key=lambda p: p.name)


def _installed_families() -> Iterator[ModuleType]:
    for name in FAMILIES:
        try:
            yield import_at_rest(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise


def state_of(primitive: Primitive, kind: str) -> str:
    """Return 'rule', 'hole: reason' or 'missing'."""
    kinds: Sequence[Any] = (kind, *_ALTERNATIVES.get(kind, ()))
    has_platform_rule = any(isinstance(k, tuple) and k[0] == kind for k in primitive.rules)
    is_derived = primitive.linearity is not None if kind == "jet" else kind == "lowering" and "means" in primitive.rules
    if has_platform_rule or is_derived or any(k in primitive.rules for k in kinds):
        return "rule"
    return f"hole: {primitive.holes[kind]}" if kind in primitive.holes else "missing"


def rule_matrix(primitives: Sequence[Primitive] | None = None) -> str:
    """Return a table of primitives and kinds of rules: `+` a rule, `.` a declared hole (reason below), `-` no rule.

    Import the packages of interest first: the rules of other packages show as missing.

    >>> from calque_core import lax, rule_matrix
    >>> print(rule_matrix([lax.sin_p]).splitlines()[1].split()[:3])
    ['sin', '+', '+']
    """
    chosen = standard_primitives() if primitives is None else list(primitives)
    width = max((len(p.name) for p in chosen), default=0) + 2
    lines = [" " * width + "  ".join(KINDS)]
    reasons = []
    for primitive in chosen:
        states = [state_of(primitive, kind) for kind in KINDS]
        marks = [
            ("+" if s == "rule" else "." if s.startswith("hole") else "-").ljust(len(k)) for s, k in zip(states, KINDS)
        ]
        lines.append((primitive.name.ljust(width) + "  ".join(marks)).rstrip())
        reasons += [f"{primitive.name}, {kind}: {s[6:]}" for s, kind in zip(states, KINDS) if s.startswith("hole")]
    return "\n".join([*lines, "", *reasons]) if reasons else "\n".join(lines)
