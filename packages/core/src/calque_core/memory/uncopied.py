"""Objects that a copy shares: primitives, jaxprs, the stages of compiled functions.

Owns `Uncopied`. The one idea: such an object never changes and is known by its identity, so that a copy would be a
stranger to the tables of rules; a copy of it is itself, and pickle refuses it with a way out.

Read next: `primitives/primitive.py` and `jaxprs/jaxpr.py`, which are such objects.
"""

from __future__ import annotations

from typing import Self


class Uncopied:
    """An object that copies share and pickle refuses; abstract.

    A class of its own gives `_in_words`, the object in an error, `_holds`, its contents, and `_instead`, the way out.

    >>> import copy
    >>> from calque_core.engine import Uncopied
    >>> class Program(Uncopied):
    ...     _in_words, _instead = "a program", "Pickle its source."
    >>> program = Program()
    >>> copy.deepcopy([program])[0] is program
    True
    """

    __slots__ = ()
    _in_words = ""
    _holds = "functions"
    _instead = ""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> str:
        raise TypeError(f"{self._in_words} cannot be pickled: it holds {self._holds}. {self._instead}")
