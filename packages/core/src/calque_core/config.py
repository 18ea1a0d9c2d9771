"""Settings, scoped to a task.

`with config.enable_x64(False): ...` holds for the block, in this thread and in this task of `asyncio`, and in tasks
that it starts meanwhile; `@config.enable_x64(False)` holds for each call of a function; `config.update("enable_x64",
False)` changes the default of every thread.  Settings are part of every cache key, so a change never gives a
stale result.  Code reads a setting where it uses it, not at import.

Read next: `report_settings.py`, on which messages alone depend; `start_requests.py`, for the life of the process.
"""

from __future__ import annotations

from typing import Any

from calque_core.context import DEFAULT_SETTINGS, RESTING, Reports, Settings, active, at_rest, context_chain, here
from calque_core.frames.source import where
from calque_core.report_settings import (
    captured_constants_bytes,
    in_place_operators,
    log_compiles,
    report,
    reports,
    traceback_filtering,
    unused_donations,
)
from calque_core.setting_values import Held, with_report, with_setting
from calque_core.start_requests import cpu_devices, device_memory, platforms

__all__ = [
    "captured_constants_bytes",
    "checking_leaks",
    "checks",
    "cpu_devices",
    "current",
    "debug_infs",
    "debug_nans",
    "default_device",
    "default_dtype_bits",
    "default_matmul_precision",
    "default_prng_impl",
    "device_memory",
    "disable_jit",
    "enable_checks",
    "enable_x64",
    "get_mesh",
    "in_place_operators",
    "known_indices",
    "known_operations",
    "log_compiles",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "platforms",
    "report",
    "reports",
    "scope",
    "set_mesh",
    "traceback_filtering",
    "unused_donations",
    "update",
]


class scope(Held):
    """Hold one setting for a `with` block; all other settings stay as they are around the block."""

    __slots__ = ()

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value
        super().__init__(settings=with_setting(here().settings, name, value))

    def __enter__(self) -> None:
        self.settings = with_setting(here().settings, self.name, self.value)
        if self.settings.enable_x64 and not here().settings.enable_x64:
            _refuse_in_trace_of_32_bits()
        super().__enter__()


def _refuse_in_trace_of_32_bits() -> None:
    """Raise RuntimeError if the current trace was opened in 32 bits: its results and equations have no more."""
    trace = here().trace
    opened = [context for context in context_chain(here()) if context.trace is trace][-1]
    if trace is not RESTING.trace and not opened.settings.enable_x64:
        raise RuntimeError(
            f"enable_x64(True){where()} is inside of {trace.describe()}, which began in 32 bits: the results of its "
            "operations have 32 bits. Enable 64 bits around the call, and convert to 32 bits inside where needed."
        )


def current() -> Settings:
    """Return the settings of the calling task.

    >>> from calque_core.config import current
    >>> current().enable_x64
    True
    """
    return here().settings


def enable_x64(value: bool = True) -> scope:
    """Keep 64-bit dtypes (the default), or convert them to 32 bits before every operation, for a `with` block.

    A function that is traced in 64 bits may use 32 inside, and not the reverse.
    Raises: ValueError if `value` is not a bool; RuntimeError where 64 bits begin in a function traced in 32 bits.

    >>> from calque_core.config import current, enable_x64
    >>> with enable_x64(False):
    ...     current().enable_x64, current().default_dtype_bits
    (False, 32)
    """
    return scope("enable_x64", value)


def default_dtype_bits(value: int) -> scope:
    """Give Python scalars, `zeros`, `arange`, `iota` and `random` 32 or 64 bits, for a `with` block.

    Raises: ValueError if `value` is not 32 or 64, or is 64 while `enable_x64` is off.

    >>> from calque_core.config import current, default_dtype_bits
    >>> with default_dtype_bits(32):
    ...     current().default_dtype_bits
    32
    """
    return scope("default_dtype_bits", value)


def enable_checks(value: bool = True) -> scope:
    """Type-check every jaxpr when its trace closes, and the results of every evaluated operation, for a `with` block.

    Evaluation also checks that traced indices are in bounds, unless a `mode` handles other indices.
    A backward pass also checks that no derivative rule joins a known number to a tangent.
    Known operations pass their rules; an error that their code raises alone is a RuntimeError with their name.
    Raises: TypeError, inside the block, where an evaluated result differs in type from the primitive's type rule;
    IndexError for an index out of bounds.

    >>> from calque_core.config import current, enable_checks
    >>> with enable_checks():
    ...     current().enable_checks
    True
    """
    return scope("enable_checks", value)


def known_operations(value: bool = True) -> scope:
    """Run operations of known types as code that was made once from their rules, for a `with` block; on by default.

    While it is off, each operation passes its rules at each call: for a breakpoint in a rule, or to see whether the
    code is at fault.  Results are the same, up to the order of sums.  See the page *Known operations*.

    >>> from calque_core.config import current, known_operations
    >>> with known_operations(False):
    ...     current().known_operations
    False
    """
    return scope("known_operations", value)


def checks(value: bool = True) -> scope:
    """Make the checks of a program (`check`), or leave them out, for a `with` block; on by default.

    While it is off, a call of `check` does nothing and records nothing: a traced program has no equation for it.  A
    jaxpr made before runs unchanged.
    Raises: ValueError if `value` is not a bool.

    >>> from calque_core import check
    >>> from calque_core.config import checks
    >>> with checks(False):
    ...     check(False, "never seen")
    """
    return scope("checks", value)


def debug_nans(value: bool = True) -> scope:
    """Raise where an operation makes a nan that none of its operands held, for a `with` block.

    The error names the operation and its operands, the user's line and the pass, forward or backward.  A compiled
    program is checked as a whole, and then run operation by operation to find the operation; only the results of the
    program are checked.  Costs one check per result.
    Raises: FloatingPointError, inside the block.

    >>> from calque_core.config import current, debug_nans
    >>> with debug_nans():
    ...     current().debug_nans
    True
    """
    return scope("debug_nans", value)


def debug_infs(value: bool = True) -> scope:
    """Raise where an operation makes an infinity that none of its operands held, for a `with` block.

    Search and error are as for `debug_nans`.
    Raises: FloatingPointError, inside the block.

    >>> from calque_core.config import current, debug_infs
    >>> with debug_infs():
    ...     current().debug_infs
    True
    """
    return scope("debug_infs", value)


def disable_jit(value: bool = True) -> scope:
    """Run jitted functions directly, operation by operation, for a `with` block.

    Inside them `print`, breakpoints and Python's `if` see values, unless another transformation is around; results are
    NumPy's if the arguments are NumPy's.  `cond` and `switch` call the branch that runs,
    `while_loop` and `scan` call their functions at every step, if the conditions are known; the types of branches
    and steps are not compared then.  A `scan` of no steps is still traced.  Existing jaxprs run unchanged.
    Raises: ValueError if `value` is not a bool.

    >>> from calque_core.config import disable_jit
    >>> from calque_core.lax import while_loop
    >>> with disable_jit():
    ...     while_loop(lambda x: x < 3, lambda x: print(x) or x + 1, 1)
    1
    2
    3
    """
    return scope("disable_jit", value)


def known_indices(value: str) -> scope:
    """Refuse known indices out of bounds ("checked", the default), or take them as traced ones ("as_traced").

    It holds for a `with` block: a read is clipped then, and an update is dropped.  NumPy's own indexing ignores it.
    Raises: ValueError if `value` is neither.

    >>> import numpy as np
    >>> from calque_core.config import known_indices
    >>> from calque_core.engine.numpy_functions import at
    >>> with known_indices("as_traced"):
    ...     at(np.arange(3))[5].get(), at(np.arange(3))[5].set(7)
    (np.int64(2), array([0, 1, 2]))
    """
    return scope("known_indices", value)


def numpy_dtype_promotion(value: str) -> scope:
    """Promote operands as NumPy does ("standard", the default), by kind ("by_kind"), or refuse ("strict") their dtypes.

    It holds for a `with` block.  By kind, an integer beside a float takes the float's dtype, and becomes float32 where
    a float is computed, float64 if it has 64 bits; a Python float beside an integer without axes is still weak.  An
    update `x.at[i].set(y)` of a wider kind than `x` is converted, with a FutureWarning.
    A Python scalar takes the dtype of the other operand in all cases, and `result_type` never refuses.  An
    operation that documents a conversion, as division of integers does, still makes it.  The setting holds for Python's
    operators and for functions of `lax` and NumPy that the program itself calls, not for the operations inside of a
    function or a rule; NumPy's own functions of ndarrays alone ignore it.
    Raises: ValueError if `value` is none of these; TypeError, inside the block, for operands of different dtypes.

    >>> import numpy as np
    >>> from calque_core import lax
    >>> from calque_core.config import numpy_dtype_promotion
    >>> with numpy_dtype_promotion("strict"):
    ...     lax.add(np.float32(1), 2)
    np.float32(3.0)
    """
    return scope("numpy_dtype_promotion", value)


def numpy_rank_promotion(value: str) -> scope:
    """Broadcast operands with different numbers of axes ("allow", the default), also "warn" or "raise", for a block.

    Operands without axes are always broadcast.  The setting holds for the same functions as `numpy_dtype_promotion`.
    Raises: ValueError if `value` is none of the three; ShapeError, inside the block, for operands of different ranks.

    >>> import numpy as np
    >>> from calque_core import lax
    >>> from calque_core.config import numpy_rank_promotion
    >>> with numpy_rank_promotion("raise"):
    ...     lax.add(np.ones((1, 2)), np.ones((2, 2))).shape, lax.add(np.ones(2), 1.0)
    ((2, 2), array([2., 2.]))
    """
    return scope("numpy_rank_promotion", value)


def default_matmul_precision(value: str | None) -> scope:
    """Multiply in this precision where a product or a convolution states none, for a `with` block.

    "default", "high" and "highest" are those of `lax.Precision`; "bfloat16" and "fastest" are other names of the first,
    "tensorfloat32" and "bfloat16_3x" of the second, "float32" of the third.  None, the default, is the highest.  It
    matters on accelerators, which multiply float32 faster by fewer bits.  A derivative has the precision of the product
    that it is of.
    Raises: ValueError if `value` is none of these.

    >>> import numpy as np
    >>> from calque_core import make_jaxpr
    >>> from calque_core.config import default_matmul_precision
    >>> with default_matmul_precision("high"):
    ...     make_jaxpr(lambda x: x @ x)(np.eye(2)).eqns[0].params["precision"]
    (<Precision.HIGH: 'high'>, <Precision.HIGH: 'high'>)
    """
    return scope("default_matmul_precision", value)


def default_prng_impl(value: str) -> scope:
    """Make random keys of this generator where `impl` is not given, for a `with` block.

    "threefry2x32", the default, "rbg" or "unsafe_rbg"; bare keys of four words are of this generator, too.
    Raises: ValueError if `value` is none of these.

    >>> from calque_core.config import current, default_prng_impl
    >>> with default_prng_impl("rbg"):
    ...     current().default_prng_impl
    'rbg'
    """
    return scope("default_prng_impl", value)


def checking_leaks(value: bool = True) -> scope:
    """Raise where a transformation ends and something still refers to one of its tracers, for a `with` block.

    The error names the tracer, its place, and the path to it from a global, a class or a variable of a running
    function.  It misses references that Python's garbage collector does not see, such as a C library's.  Each
    transformation costs one pass over every object of the process.
    Raises: ValueError if `value` is not a bool; UnexpectedTracerError, inside the block.

    >>> from calque_core.config import checking_leaks, current
    >>> with checking_leaks():
    ...     current().checking_leaks
    True
    """
    return scope("checking_leaks", value)


def default_device(device: Any) -> scope:
    """Run compiled functions of NumPy arguments, and put arrays, on a device of a backend, for a `with` block.

    Arrays on a device stay there, and a program runs where its arrays are; NumPy's arrays stay NumPy's.  None, the
    default, means the backend's first device.
    Raises: ValueError if `device` is neither None nor a device of a backend that is loaded.

    >>> from calque_core.config import current, default_device
    >>> with default_device(None):
    ...     current().default_device is None
    True
    """
    return scope("default_device", device)


def set_mesh(mesh: Any) -> scope:
    """Let partition specs alone refer to a mesh, for a `with` block: in `shard_map` without `mesh`, and in a backend.

    None, the default, means no mesh.
    Raises: ValueError if `mesh` is neither None nor a `Mesh` or an `AbstractMesh`.

    >>> from calque_core import AbstractMesh
    >>> from calque_core.config import current, set_mesh
    >>> with set_mesh(AbstractMesh((2,), ("i",))):
    ...     current().mesh
    AbstractMesh('i': 2)
    """
    return scope("mesh", mesh)


def get_mesh() -> Any:
    """Return the mesh of the block `set_mesh`, or None.

    >>> from calque_core import AbstractMesh
    >>> from calque_core.config import get_mesh, set_mesh
    >>> with set_mesh(AbstractMesh((2,), ("i",))):
    ...     get_mesh()
    AbstractMesh('i': 2)
    """
    return current().mesh


def update(name: str, value: Any) -> None:
    """Change a setting for every thread, for as long as the process lives.

    Raises: AttributeError if there is no setting of that name; ValueError if the value does not fit it; TypeError for a
    name that is no string.

    >>> from calque_core.config import update
    >>> update("default_dtype_bits", 64)
    """
    if not isinstance(name, str):
        raise TypeError(f"config.update{where()} got {name!r} as a name. Give the name first: update(name, value).")
    if name in Reports._fields:
        before, RESTING.reports = RESTING.reports, with_report(RESTING.reports, name, value)
        for context in (*at_rest, *context_chain(here())):
            if context.reports is before:  # otherwise it is in a block
                context.reports = RESTING.reports
        return
    settings = with_setting(RESTING.settings, name, value)
    RESTING.settings = settings
    for context in (*at_rest, *context_chain(here())):
        if not context.own_settings:
            context.settings = settings
    if settings is DEFAULT_SETTINGS:
        active.pop(update, None)
    else:
        active[update] = None
