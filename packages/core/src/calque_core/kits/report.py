"""Reports on the laws of a primitive or a transformation, and the comparison of values.

One idea: a law holds, or fails with the values that break it, or cannot be tested because a rule is missing; a `Report`
has the outcome of each law.

Read next: `testing.py`, whose kits fill reports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_core.errors import MissingRuleError
from calque_core.primitives.primitive import Primitive
from calque_core.show.printing_autodidax import long_type
from calque_core.types.avals import typeof
from calque_core.types.dtypes import is_float
from calque_core.types.limits import finfo

Value = Any


class Finding(NamedTuple):
    """The outcome of one law, "holds", "fails" or "no rule", and the details."""

    law: str
    outcome: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.law}: {self.outcome}{': ' if self.detail else ''}{self.detail}"


class Report:
    """The findings about one primitive or one transformation, in the order of the tests."""

    def __init__(self, subject: str, primitive: Primitive | None = None) -> None:
        self.subject, self.primitive = subject, primitive
        self.findings: list[Finding] = []
        self.first_error: Exception | None = None

    def ask(self, law: str, test: Callable[[], object]) -> None:
        """Run the test of a law, and record the outcome.

        A missing rule of the subject is no failure.  A missing rule of another primitive, which the rules of the
        subject use, is a failure, unless the subject has a declared hole of this kind.
        """
        try:
            test()
        except MissingRuleError as error:
            if self._is_own(error):
                self.findings.append(Finding(law, "no rule", _reason(error)))
            else:
                self._fail(law, error)
        except Exception as error:  # noqa: BLE001  any error of a rule is a finding
            self._fail(law, error)
        else:
            self.findings.append(Finding(law, "holds"))

    def _is_own(self, error: MissingRuleError) -> bool:
        subject = self.primitive
        return subject is None or error.primitive == subject.name or error.kind in subject.holes

    def _fail(self, law: str, error: Exception) -> None:
        self.first_error = self.first_error or error
        self.findings.append(Finding(law, "fails", _description(error)))

    def outcome(self, law: str) -> str:
        """Return the outcome of a law: "holds", "fails" or "no rule"."""
        return next(f.outcome for f in self.findings if f.law == law)

    def raise_failures(self) -> None:
        """Raise an error if a law fails.  Raises: AssertionError with the findings of all laws that do not hold."""
        failures = [f for f in self.findings if f.outcome == "fails"]
        if failures:
            count = f"{len(failures)} of {len(self.findings)} laws"
            lines = "\n".join(f"  {f}" for f in self.findings if f.outcome != "holds")
            raise AssertionError(f"{self.subject} breaks {count}.\n{lines}") from self.first_error

    def __repr__(self) -> str:
        return "\n".join([self.subject, *(f"  {f}" for f in self.findings)])


def _reason(error: MissingRuleError) -> str:
    hole = f" There is none because {error.hole}." if error.hole else ""
    return f"{error.summary}.{hole}"


def _description(error: Exception) -> str:
    text = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
    return " ".join([*text.split(), *getattr(error, "__notes__", ())])


def compare(label: str, actual: Sequence[Value], expected: Sequence[Value], tolerance: float = 0.0) -> None:
    """Compare types exactly, and values to `tolerance` units of roundoff of the dtype, relative to the largest value.

    NaN equals NaN.  Raises: AssertionError with both types, or the first values that differ.

    >>> import numpy as np
    >>> from calque_core.testing import compare
    >>> compare("twice the same", [np.ones(2)], [np.ones(2)])
    """
    types = [[long_type(typeof(x)) for x in xs] for xs in (actual, expected)]  # a Python scalar equals an array
    if types[0] != types[1]:
        raise AssertionError(f"{label} gives ({', '.join(types[0])}) where ({', '.join(types[1])}) is right.")
    for number, (x, y) in enumerate(zip(map(np.asarray, actual), map(np.asarray, expected))):
        _compare_values(f"{label}, result {number}," if len(expected) > 1 else label, x, y, tolerance)


def _compare_values(label: str, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], tolerance: float) -> None:
    if y.dtype.names is not None or not y.size or y.dtype.itemsize == 0:
        return
    is_right = x == y
    if is_float(y.dtype):
        finite = np.abs(y[np.isfinite(y)])
        eps = float(finfo(y.dtype).eps)
        with np.errstate(invalid="ignore"):
            is_right |= np.isnan(x) & np.isnan(y)
            is_right |= np.abs(x - y) <= tolerance * eps * max(1.0, float(finite.max(initial=0.0)))
    if not is_right.all():
        index = tuple(map(int, np.argwhere(~is_right)[0]))
        place = f" at {list(index)}" if index else ""
        raise AssertionError(f"{label} gives {x[index]}{place} where {y[index]} is right.")
