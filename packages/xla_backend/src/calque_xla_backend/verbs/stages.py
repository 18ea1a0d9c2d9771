"""The stages of a jitted function, ahead of its calls: `Traced`, `Lowered`, `Compiled`.

One idea: each stage holds the one before it, and a compiled stage runs the same program that a call of the jitted
function with these types runs; whichever comes first compiles it.

    jit(f).trace(*args)   Traced     the jaxpr
          .lower()        Lowered    the StableHLO module
          .compile()      Compiled   the executable, which takes arguments of these types only

Read next: `calls/signature.py`, which compares arguments with the types of a program; `jit.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calque_core import CapturedConstant, Jaxpr, api_boundary, captured_constants
from calque_core.engine import (
    HostCall,
    Settings,
    Uncopied,
    check_program,
    entered,
    has_own_values,
    here,
    is_debugging,
    lower_values,
    stand_in_of,
)
from calque_core.extend import Shape, where
from calque_pytree import PyTreeDef, tree_flatten
from calque_xla_backend.calls.call import Call, TracedCall, by_position
from calque_xla_backend.calls.compiled import NOT_COMPILED, CompiledCall
from calque_xla_backend.calls.own_leaves import own_leaves
from calque_xla_backend.calls.signature import CallSignature
from calque_xla_backend.compile import LoweredProgram, Program, lower_program, name_of
from calque_xla_backend.compiler import XlaCompiler, compiler_of, options_of
from calque_xla_backend.modules.bounds import check_fit
from calque_xla_backend.runtime.clients import default_platform
from calque_xla_backend.runtime.communication import Traffic, communication_of
from calque_xla_backend.runtime.inspection import (
    computation_of,
    costs_of,
    hlo_costs,
    hlo_text,
    memory_of,
    optimized_hlo_text,
)
from calque_xla_backend.runtime.partition import Place
from calque_xla_backend.runtime.placement import placement
from calque_xla_backend.runtime.runtime import Executable

Value = Any
Texts = dict[str, Callable[[], str]]

_FROM_STAGE = {"stablehlo": "lower()", "hlo": "lower()", "optimized_hlo": "lower().compile()"}


@dataclass(frozen=True, slots=True)
class ArgInfo:
    """The type of an array among the arguments, and whether the program may overwrite it."""

    aval: Any
    donated: bool

    @property
    def shape(self) -> Shape:
        """The shape of the array."""
        shape: Shape = self.aval.shape
        return shape

    @property
    def dtype(self) -> Any:
        """The dtype of the array."""
        return self.aval.dtype


@dataclass(frozen=True, slots=True)
class Origin:
    """The traced call that all stages come from, its settings, and the options of its `jit`.

    `place` is that of the arrays in the call, or None: to trace and to lower needs no device.
    """

    call: TracedCall
    signature: CallSignature
    compiler: XlaCompiler
    settings: Settings
    place: Place | None
    donated: tuple[int, ...]


class Stage(Uncopied):
    """The facts of all stages about the function, its arguments and its results."""

    __slots__ = ("_origin",)
    _in_words, _instead = "a stage of a compiled function", "Write the function to bytes: calque.export."

    def __init__(self, origin: Origin) -> None:
        self._origin = origin

    @property
    def jaxpr(self) -> Jaxpr:
        """The traced program."""
        return self._origin.call.jaxpr

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return name_of(self.jaxpr)

    @property
    def captured_constants(self) -> list[CapturedConstant]:
        """The arrays that the function captured, the largest first, with the lines that use them."""
        return captured_constants(self.jaxpr)

    @property
    def in_tree(self) -> PyTreeDef:
        """The structure of `(args, kwargs)`, without static arguments."""
        return self._origin.signature.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        """The structure of the result."""
        return self._origin.call.out_tree

    @property
    def args_info(self) -> Any:
        """The type of each array among the arguments, and whether it is donated: a pair like `(args, kwargs)`."""
        donated = self._origin.donated
        avals = enumerate(self._origin.signature.avals)
        return self.in_tree.unflatten([ArgInfo(aval, i in donated) for i, aval in avals])

    @property
    def in_avals(self) -> Any:
        """The types of the arguments: a pair like `(args, kwargs)`."""
        return self.in_tree.unflatten(self._origin.signature.avals)

    @property
    def out_avals(self) -> Any:
        """The types of the results: a pytree like the result."""
        return self.out_tree.unflatten(self.jaxpr.out_avals)

    def _names(self) -> Sequence[str]:
        names, own = self._origin.signature.names, own_leaves(self.jaxpr)
        return names if own is None else own.paths(names)

    @property
    def out_info(self) -> Any:
        """The result as a pytree of `ShapeDtypeStruct`, as `eval_shape` returns it."""
        return self.out_tree.unflatten([stand_in_of(aval) for aval in self.jaxpr.out_avals])

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Return the program as text, by default in the newest form that the stage has.

        `dialect` is "jaxpr", "stablehlo" and "hlo" after `lower()`, "optimized_hlo" after `compile()`.  `debug_info`
        adds the places in the user's program to "stablehlo".
        Raises: ValueError that lists the dialects of this stage.
        """
        texts = self._texts(debug_info)
        make = texts.get(dialect or list(texts)[-1])
        if make is None:
            later = f" It exists after {_FROM_STAGE[dialect]}." if dialect in _FROM_STAGE else ""
            raise ValueError(
                f"as_text{where()} got the dialect {dialect!r}, which a {type(self).__name__} does not have.{later} "
                f"Use one of: {', '.join(texts)}."
            )
        return make()

    def _texts(self, debug_info: bool = False) -> Texts:
        """Return the functions that make the texts, by dialect; the last one is the default."""
        return {"jaxpr": lambda: str(self.jaxpr)}

    def __repr__(self) -> str:
        arguments = ", ".join(f"{n}: {a}" for n, a in zip(self._origin.signature.names, self._origin.signature.avals))
        result = self.out_tree.show([str(aval) for aval in self.jaxpr.out_avals])
        return f"<{type(self).__name__} {self.fun_name}: ({arguments}) -> {result}>"


def check_arrays_alone(traced: Stage) -> None:
    """Check that a program takes and gives arrays alone, as one that is compiled ahead of time must.

    Raises: TypeError.
    """
    if has_own_values(traced.jaxpr):
        raise TypeError(
            f"{traced.fun_name}{where()} takes or gives values of own types, and a program that is compiled ahead of "
            "time takes arrays alone. Lower a function of the arrays, or call the jitted function."
        )


class Traced(Stage):
    """A function traced for arguments of some types.  `jit(f).trace(*args)` makes it.

    >>> import numpy as np
    >>> from calque_core import ShapeDtypeStruct
    >>> from calque_xla_backend import jit
    >>> jit(lambda x: x + 1.0).trace(ShapeDtypeStruct((3,), np.float32)).out_info
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """

    __slots__ = ()

    @api_boundary
    def lower(self, *, platform: str | None = None) -> Lowered:
        """Return the StableHLO module for a platform, "cuda" say; by default for the device of the arguments.

        Raises: MissingRuleError for a primitive without a lowering rule.
        """
        origin, own = self._origin, own_leaves(self.jaxpr)
        donated = origin.donated if own is None else own.positions(origin.donated)
        platform = platform or (default_platform() if origin.place is None else origin.place.platform)
        with entered(settings=origin.settings):
            jaxpr = lower_values(self.jaxpr)
            program = lower_program(jaxpr, platform, origin.place, donated, origin.compiler.keep_unused)
            return Lowered(origin, program)


class Lowered(Stage):
    """A function lowered to StableHLO for arguments of some types.  `jit(f).lower(*args)` makes it.

    >>> import numpy as np
    >>> from calque_xla_backend import jit
    >>> "stablehlo.sine" in jit(np.sin).lower(1.0).as_text()
    True
    """

    __slots__ = ("_program",)

    def __init__(self, origin: Origin, program: LoweredProgram) -> None:
        super().__init__(origin)
        self._program = program

    @property
    def platform(self) -> str:
        """The platform that the module is for."""
        return self._program.platform

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """Return the StableHLO module, or with the dialect "hlo" jaxlib's `XlaComputation`.

        `main` takes large constants, then the arguments that a result depends on.
        Raises: ValueError for another dialect, which `as_text` may have.
        """
        if dialect not in ("stablehlo", "hlo", None):
            raise ValueError(
                f"compiler_ir{where()} got the dialect {dialect!r}. Use 'stablehlo' or 'hlo', or as_text, which has: "
                f"{', '.join(self._texts())}."
            )
        module = self._program.module.module
        return computation_of(module) if dialect == "hlo" else module

    @property
    def callbacks(self) -> Sequence[HostCall]:
        """The Python functions that the program calls; mostly none."""
        return self._program.module.callbacks

    def cost_analysis(self) -> dict[str, float]:
        """Return XLA's estimates for the program before any optimisation: "flops", "bytes accessed", ..."""
        return hlo_costs(self.compiler_ir())

    @api_boundary
    def compile(self, compiler_options: Mapping[str, Any] | None = None) -> Compiled:
        """Return the compiled program.  It is the program that calls of the jitted function run, compiled once.

        `compiler_options` are XLA's flags by name, beside the options of `jit`.
        Raises: TypeError if these are not names with scalars; ValueError if the module is for another platform;
        XlaRuntimeError for an unknown flag.
        """
        origin = self._origin
        added = options_of(f"compile of {self.fun_name}", compiler_options or {})
        options = tuple(sorted({**dict(origin.compiler.options), **dict(added)}.items()))
        compiler = compiler_of(options, origin.compiler.target, origin.compiler.keep_unused)
        with entered(settings=origin.settings):
            place = origin.place or placement()
            if self.platform != place.platform:
                raise ValueError(
                    f"compile of {self.fun_name}{where()}: the program was lowered for {self.platform!r}, "
                    f"and its device is {place}. Lower it without platform=, or export it."
                )
            return Compiled(self, compiler.program_of(self._program, place), place)

    def _texts(self, debug_info: bool = False) -> Texts:
        return {
            **super()._texts(),
            "hlo": lambda: hlo_text(self.compiler_ir()),
            "stablehlo": lambda: str(self.compiler_ir().operation.get_asm(enable_debug_info=debug_info)),
        }


class Compiled(Stage):
    """A compiled function for arguments of some types.  `jit(f).lower(*args).compile()` makes it.

    A call never traces or compiles.  Python scalars, NumPy arrays and device arrays may stand for each other; a weak
    type does not matter.  Static arguments are part of the program and are not passed again.

    >>> from calque_xla_backend import jit
    >>> doubled = jit(lambda x: x * 2.0).lower(1.0).compile()
    >>> doubled(21.0)
    Array(42., dtype=float64, weak_type=True)
    """

    __slots__ = ("_last", "_lowered", "_place", "_program")

    def __init__(self, lowered: Lowered, program: Program, place: Place) -> None:
        super().__init__(lowered._origin)
        self._lowered, self._program, self._place, self._last = lowered, program, place, NOT_COMPILED

    @api_boundary
    def __call__(self, *args: Value, **kwargs: Value) -> Any:
        """Return the result of the program.

        Raises: TypeError that names each argument of another type, and for other structures and for traced values;
        ValueError for an array on another device; OverflowError for an integer that does not fit.
        """
        if kwargs:
            args, kwargs = by_position(self._origin.signature.parameters, args, kwargs)
        if here().settings == self._origin.settings and not is_debugging():
            outs = self._last.attempt((), args, kwargs)
            if outs is not None:
                return self._last.result(outs)
        return self._checked_call(args, kwargs)

    def _checked_call(self, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Any:
        """Compare the arguments with the program's types, run it, and let the next call compare less."""
        origin, program = self._origin, self._program
        leaves, in_tree = tree_flatten((args, kwargs))
        origin.signature.check_structure(args, kwargs, in_tree)
        origin.signature.check_values(leaves, self._place)
        call = Call((), (), (args, kwargs), leaves, in_tree.snapshot())
        compiled = CompiledCall(program, call, origin.call, origin.signature.parameters)
        arrays = compiled.arrays(leaves)
        origin.signature.check_divisions(arrays, program.in_types)
        check_fit(program.bounds, arrays, origin.signature.caller, self._names)
        outs = program(arrays, self._names)
        if is_debugging() and not program.donated:  # the check may evaluate the program again
            check_program(program.name, lower_values(self.jaxpr), arrays, outs)
        self._last = compiled
        return compiled.result([x._buffer for x in outs])

    @property
    def input_shardings(self) -> Any:
        """Where the program takes its arguments: a pair like `(args, kwargs)`, with a sharding for each array.

        Arrays on one device, and NumPy's, are moved there by a call; divided arrays must be divided so.
        """
        shardings = [target.placement.sharding for target in self._program.in_types]
        own = own_leaves(self.jaxpr)
        return self.in_tree.unflatten(shardings if own is None else own.first_of_each(own.arguments, shardings))

    @property
    def output_shardings(self) -> Any:
        """Where the results are: a pytree like the result, with a sharding for each array."""
        shardings = [target.placement.sharding for target in self._program.out_types]
        own = own_leaves(self.jaxpr)
        return self.out_tree.unflatten(shardings if own is None else own.first_of_each(own.returned, shardings))

    def cost_analysis(self) -> dict[str, float]:
        """Return XLA's estimates for the optimised program: "flops", "bytes accessed", ..."""
        return costs_of(self._program.executable)

    def communication(self) -> dict[str, Traffic]:
        """Return the collectives of the optimised program by kind: their number, and the bytes of one device.

        A collective counts the bytes of its operand or of its result, the larger of both; in a loop it counts once.
        """
        return communication_of(optimized_hlo_text(self._program.executable))

    def memory_analysis(self) -> Any:
        """Return the bytes that the program takes, as attributes `argument_size_in_bytes`, `temp_size_in_bytes`, ..."""
        return memory_of(self._program.executable)

    def runtime_executable(self) -> Executable:
        """Return jaxlib's executable."""
        return self._program.executable

    def _texts(self, debug_info: bool = False) -> Texts:
        return {
            **self._lowered._texts(debug_info),
            "optimized_hlo": lambda: optimized_hlo_text(self._program.executable),
        }
