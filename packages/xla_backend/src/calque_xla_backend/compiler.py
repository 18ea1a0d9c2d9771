"""Compilers: the objects by which equations of `jit` are compiled and run.

One idea: a compiler is a choice of options, and there is one object for each choice, which is part of each key of a
program.

Read next: `compile.py`, which makes the programs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from calque_core import Jaxpr, JaxprEqn, rule_epoch
from calque_core.engine import (
    check_program,
    has_own_values,
    here,
    is_debugging,
    lower_avals,
    lower_values,
    lowered,
    raised,
)
from calque_core.extend import where
from calque_pytree import static_key
from calque_xla_backend.compile import LoweredProgram, Options, Program, compile_program, lower_program, name_of
from calque_xla_backend.modules.bounds import check_fit
from calque_xla_backend.placing import UNDIVIDED, Chosen, Divisions, Target, choices_in, chosen_place
from calque_xla_backend.runtime.partition import Place
from calque_xla_backend.runtime.placement import placement

Value = Any


class XlaCompiler:
    """Runs jaxprs with XLA: the `compiler` of the equations of `jit`.  Compared by identity.

    `options` are XLA's flags by name; `target` is the device, or the platform's name, on which programs run, and None
    leaves that to their arrays.  With `keep_unused`, programs take arguments that they do not read.
    """

    __slots__ = ("keep_unused", "options", "target")

    def __init__(self, options: Options = (), target: Target = None, keep_unused: bool = False) -> None:
        self.options, self.target, self.keep_unused = options, target, keep_unused

    def __call__(self, jaxpr: Jaxpr, args: Sequence[Value]) -> list[Value]:
        """Return the results of `jaxpr` on arrays, NumPy values and scalars, and values of own types."""
        if has_own_values(jaxpr):
            arrays = iter(self(lower_values(jaxpr), [array for x in args for array in lowered(x)]))
            return [raised([next(arrays) for _ in lower_avals(aval)], aval) for aval in jaxpr.out_avals]
        caller = f"jit of {jaxpr.debug_name}"
        program = self.program(jaxpr, self.place(jaxpr, args, caller))
        if program.bounds:
            check_fit(program.bounds, args, caller + where(), lambda: [f"{i} of the program" for i in range(len(args))])
        outs = program(args)
        if is_debugging():
            check_program(name_of(jaxpr), jaxpr, args, outs)
        return outs

    def place(self, jaxpr: Jaxpr, args: Sequence[Value], caller: str, divisions: Divisions = UNDIVIDED) -> Place:
        """Return the place of a program, the default placement if nothing decides.  Raises: as `chosen_place`."""
        return self.chosen_place(jaxpr, args, caller, divisions) or placement()

    def chosen_place(
        self, jaxpr: Jaxpr, args: Sequence[Value], caller: str, divisions: Divisions = UNDIVIDED
    ) -> Place | None:
        """Return the place that `target`, arrays, meshes or the jitted functions inside a program decide, or None.

        Raises: ValueError that names the devices if they differ; RuntimeError if there is no device of the platform.
        """
        chosen: Chosen = jaxpr.memo("places", lambda: choices_in(jaxpr, _target_of))
        return chosen_place(caller, args, chosen, self.target, divisions)

    def program(self, jaxpr: Jaxpr, place: Place, donated: tuple[int, ...] = ()) -> Program:
        """Return the program of a jaxpr for a place, compiled at the first call.

        The jaxpr keeps it: an equation of `jit`, as derivatives make them, has no function with a cache.
        """
        return self._kept(
            jaxpr, place, donated, lambda: lower_program(jaxpr, place.platform, place, donated, self.keep_unused)
        )

    def has_program(self, jaxpr: Jaxpr, place: Place, donated: tuple[int, ...]) -> bool:
        """Tell whether the next `program` of a jaxpr would compile nothing."""
        return self._key(place, donated) in jaxpr.memo_keys()

    def program_of(self, lowered: LoweredProgram, place: Place) -> Program:
        """Return the program of a lowered jaxpr: the one that `program` returns for this jaxpr."""
        return self._kept(lowered.jaxpr, place, lowered.donated, lambda: lowered)

    def _kept(
        self, jaxpr: Jaxpr, place: Place, donated: tuple[int, ...], lower: Callable[[], LoweredProgram]
    ) -> Program:
        return jaxpr.memo(self._key(place, donated), lambda: compile_program(lower(), place, self.options))  # type: ignore[no-any-return]

    def _key(self, place: Place, donated: tuple[int, ...]) -> tuple[Any, ...]:
        return self, place, donated, here().settings, rule_epoch()

    def __repr__(self) -> str:
        return f"XlaCompiler({self.choices()})"

    def choices(self) -> str:
        """Return the options of `jit` that differ from the defaults, as text."""
        choices = {"compiler_options": dict(self.options), "device": self.target, "keep_unused": self.keep_unused}
        return ", ".join(f"{name}={value}" for name, value in choices.items() if value)


_compilers: dict[Hashable, XlaCompiler] = {}  # keys of programs hold compilers: equal options must be one object


def compiler_of(options: Options = (), target: Target = None, keep_unused: bool = False) -> XlaCompiler:
    """Return the one compiler with these options."""
    return _compilers.setdefault((static_key(options), target, keep_unused), XlaCompiler(options, target, keep_unused))


def options_of(caller: str, compiler_options: Mapping[str, Any]) -> Options:
    """Return XLA's flags as pairs, sorted by name.  Raises: TypeError if they are not a mapping of names to scalars."""
    if not isinstance(compiler_options, Mapping):
        raise TypeError(f"{caller}: compiler_options is {compiler_options!r}{where()}; give a dict of flags by name.")
    for name, value in compiler_options.items():
        if not isinstance(name, str) or not isinstance(value, str | int | float | np.generic):
            raise TypeError(
                f"{caller}: compiler_options has {name!r}: {value!r}{where()}; a name is a string, and a value is a "
                "bool, an integer, a float or a string."
            )
    flags = compiler_options.items()
    return tuple(sorted((name, value.item() if isinstance(value, np.generic) else value) for name, value in flags))


def _target_of(eqn: JaxprEqn) -> Target:
    """Return the device or the platform on which a `jit` equation runs; None if that is left to arrays."""
    compiler = eqn.params["compiler"]
    return compiler.target if isinstance(compiler, XlaCompiler) else None
