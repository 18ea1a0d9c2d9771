"""Second spellings: names from documents about similar systems, for objects that have another name here.

One idea: code written after such a document runs with one changed import, and the packages keep one name for each
object.  No module of ours imports this one.

Read next: the modules of the first spellings, in the imports below.
"""

from __future__ import annotations

from typing import Any

from calque_core.frames.source import where
from calque_core.jaxprs.jaxpr import Literal as Lit
from calque_core.lax import gt as greater
from calque_core.lax import jit_p as call_p
from calque_core.lax import jit_p as closed_call_p
from calque_core.lax import jit_p as xla_call_p
from calque_core.lax import lt as less
from calque_core.lax import pvary
from calque_core.lax import zeros_like as zeros_like_array
from calque_core.ops.calls.linear import UndefinedPrimal as UndefPrimal
from calque_core.primitives.primitive import Primitive
from calque_core.staging.check import check_jaxpr as typecheck_jaxpr
from calque_core.traces.trace import Trace, current_trace
from calque_core.traces.trace import tracing as set_current_trace
from calque_core.types.avals import AbstractValue, ShapedArray

__all__ = [
    # types
    "raise_to_shaped",
    # programs
    "Lit", "typecheck_jaxpr", "call_p", "closed_call_p", "xla_call_p",
    # operations
    "bind", "greater", "less", "pcast", "zeros_like_array",
    # placeholders
    "UndefPrimal",
    # traces
    "find_top_trace", "set_current_trace",
]  # fmt: skip

Value = Any


def raise_to_shaped(aval: AbstractValue, weak_type: bool | None = None) -> AbstractValue:
    """Return `aval`, which has no concrete value to drop; make it weak or strong unless `weak_type` is None.

    >>> raise_to_shaped(ShapedArray((2,), "float32"))
    float32[2]
    """
    return aval.update(weak_type=weak_type) if weak_type is not None and isinstance(aval, ShapedArray) else aval


def bind(primitive: Primitive, *args: Value, **params: Any) -> Value:
    """Return `primitive.bind(*args, **params)`.

    >>> from calque_core.lax import add_p
    >>> bind(add_p, 1.0, 2.0)
    3.0
    """
    return primitive.bind(*args, **params)


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """Return `pvary(x, axis_name)`; no other cast is known.

    Raises: ValueError if `to` is not "varying".

    >>> pcast(1.0, (), to="varying")
    1.0
    """
    if to != "varying":
        raise ValueError(f"pcast{where()} got to={to!r}. Use 'varying'; psum and its like make values equal.")
    return pvary(x, axis_name)


def find_top_trace(_: Any = ()) -> Trace:
    """Return the current trace, which processes operations whatever their operands are.

    >>> from calque_core.traces.trace import evaluation
    >>> find_top_trace([1.0]) is evaluation
    True
    """
    return current_trace()
