"""The errors of calque, and the one place that decides their class.

`TypeError` for wrong kinds and dtypes, `ValueError` for wrong sizes; the classes here are for what those two cannot
say.  The concrete-value errors subclass TypeError, as their counterparts in the field do.
"""

from __future__ import annotations

from functools import partial
from typing import Any


class ShapeError(TypeError, ValueError):
    """Operands whose shapes do not fit together."""


class JaxprTypeError(TypeError):
    """A jaxpr that is not closed, not in A-normal form, or not typed as it says."""


class UnexpectedTracerError(TypeError):
    """A tracer used after its trace ended, in another thread, or where only values can go."""


class ConcretizationTypeError(TypeError):
    """A concrete value was asked of a tracer that stands for many."""


class TracerBoolConversionError(ConcretizationTypeError):
    """`bool()` of a tracer, as `if` and `while` call it."""


class TracerArrayConversionError(ConcretizationTypeError):
    """A NumPy array was asked of a tracer."""


class TracerIntegerConversionError(ConcretizationTypeError):
    """`__index__` or `int()` of a tracer, as indexing a list calls it."""


class NonConcreteBooleanIndexError(IndexError, ConcretizationTypeError):
    """A boolean mask whose number of True elements is not known while tracing."""


class NumpyRuleError(TypeError):
    """A function of NumPy, or an option of one, that has no rule for tracers."""


class MissingRuleError(NotImplementedError):
    """A transformation met a primitive that has no rule for it.

    The fields say what was looked for: `primitive` (its name), `kind`, `platform` (lowering only), and the `package`
    whose function registers such a rule; `place` is where in the user's program the primitive was bound, if that is
    known, as ' at file.py:41 (function)'.
    """

    place = ""

    def __init__(self, message: str, *, primitive: str, kind: str, package: str, platform: str | None = None) -> None:
        super().__init__(message)
        self.primitive, self.kind, self.package, self.platform = primitive, kind, package, platform

    def __reduce__(self) -> Any:  # a pool of processes sends errors back pickled
        make = partial(type(self), primitive=self.primitive, kind=self.kind, package=self.package)
        return make, self.args, vars(self)
