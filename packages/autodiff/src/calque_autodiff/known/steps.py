"""Steps of a linear program: operations whose derivative is straight-line code.

One idea: the rules of an operation give the same equations whenever its operands have the same types.  So the equations
are made once per types, and run as two Python functions: one computes the result and the residuals, one takes a
cotangent back to the operands.

Read next: `operation.py`, which makes these functions from the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

from calque_core import Jaxpr, Trace, Var, evaluation
from calque_core.engine import JaxprFunction, Settings

Value = Any


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


class DerivedOperation:
    """A primitive, a program or a function on operands of known types, with its derivative as code.

    `out_avals` are the types of the results, `dot_avals` the types of their tangents, None for a tangent that is zero.
    `make`, for code that was made for arrays of another shape, makes the operation from its rules, for values that the
    code does not take.

    Immutable by convention, but for attributes made at their first use, and compared by identity.  A frozen
    dataclass would cost 1 ms at every import.
    """

    __slots__ = ("_asked", "_make", "_of_rules", "dot_avals", "out_avals", "settings")

    def __init__(
        self, out_avals: Sequence[Any], dot_avals: Sequence[Any], settings: Settings, make: Callable[[], Self] | None
    ) -> None:
        self.out_avals, self.dot_avals, self.settings = out_avals, dot_avals, settings
        self._make, self._of_rules, self._asked = make, None if make else self, 0

    def of_rules(self) -> Self:
        """Return the operation as its rules make it."""
        if self._of_rules is None:
            assert self._make is not None
            self._of_rules = self._make()
        return self._of_rules

    def for_any_values(self) -> Self | None:
        """Return the operation as its rules make it, for values of any class; None until it pays to make it."""
        self._asked += 1
        return self.of_rules() if self._make is None or self._asked > _MEETINGS else None


class DualOperation(DerivedOperation):
    """The way forward with tangents: `run(*primals, *tangents)` returns the results, then their tangents.

    It neither takes nor returns a tangent that is zero.  `for_tracers`, a program, does the same for any values; it is
    None where the code was made for arrays of another shape.
    """

    __slots__ = ("for_tracers", "run")

    def __init__(
        self,
        out_avals: Sequence[Any],
        dot_avals: Sequence[Any],
        run: Callable[..., Sequence[Value]],
        for_tracers: JaxprFunction | None,
        settings: Settings,
        make: Callable[[], DualOperation] | None = None,
    ) -> None:
        DerivedOperation.__init__(self, out_avals, dot_avals, settings, make)
        self.run, self.for_tracers = run, for_tracers


class LinearizedOperation(DerivedOperation):
    """The way forward with residuals, and the way back.

    `run` returns the result, or a list of results if there are several or none has a tangent, and a tuple of residuals,
    which may refer to the memory of the operands at the positions `captured`.  `pull` is the way back from a single
    result with a tangent.
    """

    __slots__ = ("_interpreted", "_programs", "captured", "pull", "run")

    def __init__(
        self,
        out_avals: Sequence[Any],
        dot_avals: Sequence[Any],
        code: tuple[Callable[..., tuple[Any, tuple[Value, ...]]], Sequence[int]],
        pull: Pull | None,
        programs: Programs | None,
        settings: Settings,
        make: Callable[[], LinearizedOperation] | None = None,
    ) -> None:
        DerivedOperation.__init__(self, out_avals, dot_avals, settings, make)
        (self.run, self.captured), self.pull, self._programs = code, pull, programs
        self._interpreted: LinearizedOperation | None = None

    def programs(self) -> Programs:
        """Return programs equal to the code, for values of any class."""
        if self._programs is None:
            self._programs = self.of_rules().programs()
        return self._programs

    def interpreted(self) -> LinearizedOperation:
        """Return the operation whose way back is interpreted: for arrays that NumPy does not compute with."""
        if self._interpreted is None:
            programs, way_back = self.programs(), self.of_rules().pull
            pull_for = programs.pull_for
            pull = None if way_back is None else way_back.without_code()
            programs = programs._replace(pull_for=lambda has_ct: pull_for(has_ct).without_code())
            self._interpreted = LinearizedOperation(
                self.out_avals, self.dot_avals, (self.run, self.captured), pull, programs, self.settings
            )
        return self._interpreted

    def run_under(self, trace: Trace, primals: Sequence[Value]) -> tuple[Any, tuple[Value, ...]]:
        """Do as `run`, for values of any class, under the current trace, which may know the way as a function."""
        programs = self.programs()
        is_evaluated = trace is evaluation  # which would make one class of all results of a function
        outs = programs.known(*primals) if is_evaluated else trace.process_function(programs.known, primals, {})
        residuals = tuple([primals[i] if kind == "in" else outs[i] for kind, i in programs.places])
        return (outs[0] if self.pull is not None else outs[: len(self.out_avals)]), residuals


_MEETINGS = 2  # as for tables of known operations


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
