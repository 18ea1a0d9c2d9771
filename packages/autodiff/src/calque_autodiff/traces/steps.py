"""Steps of a linear program: operations whose derivative is straight-line code.

One idea: the rules of an operation give the same equations whenever its operands have the same types.  So the equations
are made once per types, and run as two Python functions: one computes the result and the residuals, one takes a
cotangent back to the operands.

Read next: `operations.py` of this package, which makes these functions from the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from calque_core import ArrayMethods, Jaxpr, Trace, Tracer, Var
from calque_core.extend import here

Value = Any

FLOATS = frozenset((float, complex, np.float32, np.float64, np.complex64, np.complex128))


def operands_among(args: Sequence[Value], kinds: Collection[type]) -> list[Value]:
    """Return the operands of a function among its arguments: tracers, and values of the classes `kinds`."""
    return [x for x in args if isinstance(x, Tracer) or is_among(x, kinds)]


def is_among(x: Value, kinds: Collection[type]) -> bool:
    """Tell whether a value is of one of the classes `kinds`; `np.ndarray` stands for device arrays, too."""
    return type(x) in kinds or (isinstance(x, ArrayMethods) and not isinstance(x, Tracer) and np.ndarray in kinds)


class PullCode(NamedTuple):
    """The way back as code: a function of cotangents, then of residuals.

    `private` marks the large cotangents among its results that nothing else refers to; it is empty if there is none.
    """

    function: Callable[..., tuple[Value, ...]]
    private: Sequence[bool]


class Pull(NamedTuple):
    """The way back through an operation for one pattern of cotangents.

    It returns a cotangent for each operand with a tangent that the mask `nonzero` marks.  `for_tracers`, a function of
    the residuals, then the cotangents, returns the same for any values; there is no `code` if the operations cannot run
    without rules.  `consuming` is for cotangents that nothing else refers to, and may write to them.  `adding` is a
    function of an array, then of what `code` takes: it adds the only result to the array, as for slices.
    """

    code: PullCode | None
    consuming: PullCode | None
    adding: Callable[..., None] | None
    for_tracers: Callable[..., list[Value]]
    nonzero: Sequence[bool]
    is_whole: bool  # whether `nonzero` marks each operand

    def without_code(self) -> Pull:
        """Return the way back as a program alone, without code."""
        return self._replace(code=None, consuming=None, adding=None)


class Known(NamedTuple):
    """The way forward through an operation: to its results and residuals.

    `function` returns the result, or a list of results if there are several or none has a tangent, and a tuple of
    residuals; it takes no tracers.  `for_tracers`, a function of any values, returns a list of the results and of the
    residuals that are no operands; `places` holds the place of each residual among the operands, ("in", i), or in this
    list, ("out", i).  Residuals may refer to the memory of the operands at the positions `captured`.
    """

    function: Callable[..., tuple[Any, tuple[Value, ...]]]
    for_tracers: Callable[..., list[Value]]
    places: Sequence[tuple[str, int]]
    captured: Sequence[int]


class Push(NamedTuple):
    """The way forward through an operation with tangents: from primals, then tangents, to the results, then theirs.

    Neither function takes or returns a tangent that is zero; `function` takes no tracers.
    """

    function: Callable[..., Sequence[Value]]
    for_tracers: Callable[..., list[Value]]


class LinearizedOperation:
    """A primitive or a function on operands of known types, some of which have tangents.

    `known` is the way forward, and `run` its function.  `linear` is the derivative as a program of the residuals, then
    the tangents.  `pull` is the way back from a single result with a tangent; otherwise `pull_for` gives it, from the
    mask of the nonzero tangents that have a cotangent.  `out_avals` are the types of the results, `dot_avals` those of
    their tangents, None for a tangent that is zero.  `push()` is the way forward with tangents.

    Immutable by convention, and compared by identity.  A frozen dataclass would cost 1 ms at every import.
    """

    __slots__ = (
        "_interpreted", "captured", "dot_avals", "known", "linear", "out_avals", "pull", "pull_for", "push", "run",
        "settings",
    )  # fmt: skip

    def __init__(
        self,
        out_avals: Sequence[Any],
        dot_avals: Sequence[Any],
        known: Known,
        linear: Jaxpr,
        pull: Pull | None,
        pull_for: Callable[[tuple[bool, ...]], Pull],
        push: Callable[[], Push],
    ) -> None:
        self.settings = here().settings
        self.out_avals, self.dot_avals, self.linear = out_avals, dot_avals, linear
        self.known, self.run, self.captured = known, known.function, known.captured
        self.pull, self.pull_for, self.push = pull, pull_for, push
        self._interpreted: LinearizedOperation | None = None

    def interpreted(self) -> LinearizedOperation:
        """Return the operation whose way back is interpreted: for arrays that NumPy does not compute with."""
        if self._interpreted is None:
            pull = None if self.pull is None else self.pull.without_code()
            pull_for = self.pull_for
            self._interpreted = LinearizedOperation(
                self.out_avals, self.dot_avals, self.known, self.linear, pull,
                lambda has_ct: pull_for(has_ct).without_code(), self.push,
            )  # fmt: skip
            self._interpreted.settings = self.settings
        return self._interpreted

    def run_under(self, trace: Trace, primals: Sequence[Value]) -> tuple[Any, tuple[Value, ...]]:
        """Do what `run` does, for any values, under the current trace, which may know the way as a function."""
        outs = trace.process_function(self.known.for_tracers, primals, {})
        residuals = tuple([primals[i] if kind == "in" else outs[i] for kind, i in self.known.places])
        return (outs[0] if self.pull is not None else outs[: len(self.out_avals)]), residuals


class Step(NamedTuple):
    """One equation of a linear program, of the residuals and the tangents `invars`; as long as a `JaxprEqn`.

    `outvars` is one variable, or a tuple of variables for the tangents of a primitive with several results.
    """

    operation: LinearizedOperation
    invars: Sequence[Var]
    outvars: Any
    residuals: tuple[Value, ...]
    position: Any


new_step: Any = partial(tuple.__new__, Step)  # runs in C only, as for equations
