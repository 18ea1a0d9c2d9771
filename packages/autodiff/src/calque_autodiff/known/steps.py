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

from calque_core import ArrayMethods, Jaxpr, Trace, Tracer, Var, evaluation
from calque_core.extend import JaxprFunction, here

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
    the residuals, then the cotangents, returns the same for any values; it is None where the code is that of another
    shape.  There is no `code` if the operations cannot run without rules.  `consuming` is for cotangents that nothing
    else refers to, and may write to them.  `adding` is a function of an array, then of the operands of `code`: it adds
    the only result to the array, as for slices.
    """

    code: PullCode | None
    consuming: PullCode | None
    adding: Callable[..., None] | None
    for_tracers: JaxprFunction | None
    nonzero: Sequence[bool]
    is_whole: bool  # whether `nonzero` marks each operand

    def without_code(self) -> Pull:
        """Return the way back as a program alone, without code."""
        return self._replace(code=None, consuming=None, adding=None)


class Programs(NamedTuple):
    """An operation as programs, for values that its code does not take.

    `program` is the operation, whose operands in `mask` have tangents.  `known` is the way forward: it returns a list
    of the results and of the residuals that are no operands; `places` holds the place of each residual among the
    operands, ("in", i), or in this list, ("out", i).  `linear` is the derivative, of the residuals, then the tangents.
    `pull_for` gives the way back from the mask of the nonzero tangents that have a cotangent.
    """

    program: Jaxpr
    mask: Sequence[bool]
    known: JaxprFunction
    places: Sequence[tuple[str, int]]
    linear: Jaxpr
    pull_for: Callable[[tuple[bool, ...]], Pull]


class Push(NamedTuple):
    """The way forward through an operation with tangents: from primals, then tangents, to the results, then theirs.

    Neither function takes or returns a tangent that is zero; `function` takes no tracers.
    """

    function: Callable[..., Sequence[Value]]
    for_tracers: JaxprFunction | None


class LinearizedOperation:
    """A primitive or a function on operands of known types, some of which have tangents.

    `run` is the code of the way forward: it returns the result, or a list of results if there are several or none has
    a tangent, and a tuple of residuals, which may refer to the memory of the operands at the positions `captured`.
    `pull` is the way back from a single result with a tangent.  `out_avals` are the types of the results, `dot_avals`
    those of their tangents, None for a tangent that is zero.  `push()` is the way forward with tangents, None if the
    rules have to run.

    Immutable by convention, but for attributes made at their first use, and compared by identity.  A frozen
    dataclass would cost 1 ms at every import.
    """

    __slots__ = (
        "_asked", "_interpreted", "_make", "_of_rules", "_programs", "_sizes", "captured", "dot_avals", "out_avals",
        "pull", "push", "run", "settings",
    )  # fmt: skip

    def __init__(
        self,
        out_avals: Sequence[Any],
        dot_avals: Sequence[Any],
        code: tuple[Callable[..., tuple[Any, tuple[Value, ...]]], Sequence[int]],
        pull: Pull | None,
        push: Callable[[], Push | None],
        programs: Programs | None,
    ) -> None:
        self.settings = here().settings
        self.out_avals, self.dot_avals = out_avals, dot_avals
        (self.run, self.captured), self.pull, self.push, self._programs = code, pull, push, programs
        self._interpreted: LinearizedOperation | None = None
        self._make: Callable[[Any], LinearizedOperation] | None = None
        self._of_rules: LinearizedOperation | None = None
        self._sizes: Any = ()
        self._asked = 0

    def made_by(self, make: Callable[[Any], LinearizedOperation], sizes: Any, settings: Any) -> LinearizedOperation:
        """Let `make(sizes)` make the operation from its rules where its code does not serve; return it."""
        self.settings, self._make, self._sizes = settings, make, sizes
        return self

    def _by_rules(self) -> LinearizedOperation:
        if self._make is None:
            return self
        if self._of_rules is None:
            self._of_rules = self._make(self._sizes)
        return self._of_rules

    def programs(self) -> Programs:
        """Return programs equal to the code, for values of any class."""
        if self._programs is None:
            self._programs = self._by_rules().programs()
        return self._programs

    def with_programs(self) -> LinearizedOperation | None:
        """Return the operation as its rules make it, with programs; None until it pays to make it."""
        self._asked += 1
        return self._by_rules() if self._make is None or self._asked > _MEETINGS else None

    def interpreted(self) -> LinearizedOperation:
        """Return the operation whose way back is interpreted: for arrays that NumPy does not compute with."""
        if self._interpreted is None:
            programs = self.programs()
            pull_for = programs.pull_for
            pull = None if self.pull is None else pull_for((True,)).without_code()
            programs = programs._replace(pull_for=lambda has_ct: pull_for(has_ct).without_code())
            self._interpreted = LinearizedOperation(
                self.out_avals, self.dot_avals, (self.run, self.captured), pull, self.push, programs
            )
            self._interpreted.settings = self.settings
        return self._interpreted

    def run_under(self, trace: Trace, primals: Sequence[Value]) -> tuple[Any, tuple[Value, ...]]:
        """Do as `run`, for values of any class, under the current trace, which may know the way as a function."""
        programs = self.programs()
        is_evaluated = trace is evaluation  # which would make one class of all results of a function
        outs = programs.known(*primals) if is_evaluated else trace.process_function(programs.known, primals, {})
        residuals = tuple([primals[i] if kind == "in" else outs[i] for kind, i in programs.places])
        return (outs[0] if self.pull is not None else outs[: len(self.out_avals)]), residuals


_MEETINGS = 2  # as for plans


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
new_object: Any = object.__new__  # setting the attributes in place is 0.03 us sooner than a Python __init__
