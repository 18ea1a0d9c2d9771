"""The error classes of calque, the remedy in an error's message, and the name that a misspelt one resembles.

`TypeError` is for wrong kinds and dtypes, `ValueError` for wrong sizes; the classes here are for all other errors.  The
concrete-value errors subclass TypeError, as JAX's do.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any


class ShapeError(TypeError, ValueError):
    """The shapes of the operands do not fit."""


class JaxprTypeError(TypeError):
    """A jaxpr that is not closed, not in A-normal form, or not well typed."""


class UnexpectedTracerError(TypeError):
    """A tracer used after its trace ended, in another thread, or in place of a value."""


class ConcretizationTypeError(TypeError):
    """A tracer was converted to a concrete value, which it does not know."""


class TracerBoolConversionError(ConcretizationTypeError):
    """`bool()` of a tracer, as `if` and `while` call it."""


class TracerArrayConversionError(ConcretizationTypeError):
    """A tracer was converted to a NumPy array."""


class TracerIntegerConversionError(ConcretizationTypeError):
    """`__index__` or `int()` of a tracer, as indexing a list calls it."""


class NonConcreteBooleanIndexError(IndexError, ConcretizationTypeError):
    """A boolean mask whose number of True elements is not known while tracing."""


class NoArrayError(TypeError, AttributeError):
    """A mutable array, or a value of a class of your own, where an array belongs."""


class NumpyRuleError(TypeError):
    """A function of NumPy, or an option of one, that has no rule for tracers."""


class CheckError(ValueError):
    """A check of the user's program failed.

    `index` is the position of the first element that failed: that in the batches of `vmap`, the outermost first, then
    that in the predicate; it is empty for a predicate without axes.  `values` are the values that the message shows,
    at this position.  `steps` are the numbers of the steps of the loops around it, the outermost first, from 0.
    """

    index: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    values: tuple[Any, ...] = ()

    def __reduce__(self) -> Any:  # a pool of processes sends errors back pickled
        return type(self), self.args, vars(self)


class MissingRuleError(NotImplementedError):
    """A transformation met a primitive that has no rule for it.

    The fields name the missing rule: `primitive` (its name), `kind`, `platform` (lowering only), and the `package` with
    the function that registers such a rule; `place` is ' at file.py:41 (function)', the line of the user's program that
    bound the primitive, or ''; `hole` is the reason that `def_hole` gave, or ''; `refusal` says what a rule cannot
    do, or is '' if there is no rule.
    """

    place = hole = refusal = ""

    def __init__(self, message: str, *, primitive: str, kind: str, package: str, platform: str | None = None) -> None:
        super().__init__(message)
        self.primitive, self.kind, self.package, self.platform = primitive, kind, package, platform

    @property
    def summary(self) -> str:
        """The first line of the message, without the remedy."""
        return str(self).partition("\n")[0]

    def __reduce__(self) -> Any:  # a pool of processes sends errors back pickled
        make = partial(type(self), primitive=self.primitive, kind=self.kind, package=self.package)
        return make, self.args, vars(self)


def add_remedy(error: BaseException, remedy: str) -> None:
    """Add a line to the message of an error: what to do, so that a log that prints `str(error)` has it.

    An error whose message is not a text, as some libraries raise, gets a note.  A second call changes nothing.

    >>> from calque_core.engine import add_remedy
    >>> error = ValueError("assignment destination is read-only")
    >>> add_remedy(error, "Make a new array.")
    >>> print(error)
    assignment destination is read-only
    Make a new array.
    """
    if remedy in str(error) or remedy in getattr(error, "__notes__", ()):
        return
    if len(error.args) == 1 and str(error) == error.args[0]:
        error.args = (f"{error}\n{remedy}",)
    else:
        error.add_note(remedy)


def similar_name(name: str, names: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return the name in `names` most similar to `name`, or ''; a `cutoff` of 1 accepts equal names only.

    >>> from calque_core.engine import similar_name
    >>> similar_name("jpv", ["jvp", "batch"])
    'jvp'
    """
    import difflib  # noqa: PLC0415  only errors need it, and every import of core would take 1 ms more

    similar = difflib.get_close_matches(name, list(names), n=1, cutoff=cutoff)
    return similar[0] if similar else ""
