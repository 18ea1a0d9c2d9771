"""Effects: the part of an operation's work that is not in its results, such as a line that it prints.

One idea: an effect is a hashable value, and a primitive, an equation and a jaxpr have a set of them.  Transformations
read the set: an equation with an effect is never removed, merged or run twice, and `Effect` says how much more may be
done with it.  An effect that depends on parameters comes from the primitive's rule of the kind "effects".

Read next: `ops/calls/callback.py`, whose primitives have effects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from calque_core.record import Record

Effects = frozenset[Any]
no_effects: Effects = frozenset()


class Effect(Record):
    """A kind of effect.

    Effects with `ordered` happen in the order of the equations, in branches and loops too.  An `exact` effect happens
    as often as the program says; any other may also happen for the elements of a batch that do not take a branch or
    have left a loop, and is left out with the tangents that it depends on.  Primitives with an effect `by_element` have
    a rule of kind "where_active", which leaves these elements out.

    >>> from calque_core import Effect
    >>> str(Effect("log", ordered=True))
    'ordered log'
    """

    name: str
    ordered: bool = False
    exact: bool = True
    by_element: bool = False

    def __str__(self) -> str:
        return f"ordered {self.name}" if self.ordered else self.name


def has_effects_by_element(*programs: Any) -> bool:
    """Tell whether a program or an equation has an effect that asks which elements of a batch are active.

    >>> from calque_core import check, make_jaxpr
    >>> from calque_core.engine import has_effects_by_element
    >>> has_effects_by_element(make_jaxpr(lambda x: check(x > 0, "no price"))(1.0))
    True
    """
    effects = [effect for program in programs for effect in program.effects]
    return any(isinstance(effect, Effect) and effect.by_element for effect in effects)


def exact_effects(effects: Iterable[Any]) -> list[str]:
    """Return the names of the effects that must happen as often as the program says, sorted.

    >>> from calque_core import Effect
    >>> from calque_core.engine import exact_effects
    >>> exact_effects([Effect("log"), Effect("note", exact=False)])
    ['log']
    """
    return sorted(str(effect) for effect in effects if not isinstance(effect, Effect) or effect.exact)
