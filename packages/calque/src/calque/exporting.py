"""`export`, with the derivatives and the random keys of exported functions: it needs the compiler, autodiff and numpy.

`export.py` has it under jax's module path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import calque_xla_backend
from calque_autodiff import vjp
from calque_core import api_boundary
from calque_numpy.random import KeyArray
from calque_xla_backend import Exported, register_pytree_node_serialization

register_pytree_node_serialization(
    KeyArray, serialized_name="calque.KeyArray", serialize_auxdata=str.encode, deserialize_auxdata=bytes.decode
)


@api_boundary
def export(fun: Any, *, platforms: Sequence[str] | None = None) -> Callable[..., Exported]:
    """Return a function that exports the jitted function `fun` for arguments of some types.

    The returned function takes arrays or `ShapeDtypeStruct`s, and the values of static arguments.  `platforms` names
    one platform, by default that of the devices here.
    Raises: ExportError if `fun` is not jitted, for two platforms, and, when called, for a program that depends on this
    process: callbacks, foreign functions; MissingRuleError for an operation without a lowering rule.

    >>> import calque
    >>> from calque.export import deserialize, export
    >>> data = export(calque.jit(lambda x: x * x))(3.0).serialize(vjp_order=1)
    >>> calque.grad(deserialize(data).call)(3.0)
    Array(6., dtype=float64)
    """
    return calque_xla_backend.export(fun, platforms=platforms, vjp=vjp)
