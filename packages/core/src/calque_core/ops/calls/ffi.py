"""Calls of compiled kernels: the primitive `ffi_call`, and the function of this name.

One idea: core knows the name of a kernel and the types of its results, and nothing of its code.  A backend keeps the
code under the name, lowers the call, and evaluates it; FFI stands for foreign function interface.

Read next: `callback.py`, calls of Python functions; `rules/calls/ffi.py` of a backend.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_core.calls.api_util import check_arrays, describe_value
from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.frames.tracebacks import api_boundary
from calque_core.jaxprs.effects import Effects, no_effects
from calque_core.ops.calls.callback import VmapMethod, canonical_vmap_method, declared_results, io_effect
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import ShapedArray

Value = Any
Attribute = Any  # bool, int, float, str, a scalar of NumPy's, or an `ArrayAttribute`
Attributes = tuple[tuple[str, Attribute], ...]
Aliases = tuple[tuple[int, int], ...]  # pairs of an operand and a result


class ArrayAttribute(NamedTuple):
    """An attribute that is an array of rank 1: hashable, as parameters of equations are."""

    dtype: np.dtype[Any]
    elements: tuple[Any, ...]


ffi_call_p = Primitive("ffi_call", multiple_results=True)


@ffi_call_p.def_rule("effects")
def ffi_call_effects(*, has_side_effect: bool, **params: Any) -> Effects:
    return frozenset((io_effect,)) if has_side_effect else no_effects


@ffi_call_p.def_abstract_eval
def ffi_call_abstract_eval(
    *avals: Any, target_name: str, result_avals: Sequence[ShapedArray], aliases: Aliases, **params: Any
) -> Sequence[ShapedArray]:
    for i, j in aliases:
        if not (0 <= i < len(avals) and 0 <= j < len(result_avals)):
            raise ValueError(
                f"ffi_call of {target_name!r}{where()}: input_output_aliases has {i}: {j}, but there are {len(avals)} "
                f"operands and {len(result_avals)} results. Use positions, from 0 on."
            )
        if (avals[i].shape, avals[i].dtype) != (result_avals[j].shape, result_avals[j].dtype):
            raise ShapeError(
                f"ffi_call of {target_name!r}{where()}: input_output_aliases has {i}: {j}, but operand {i} is "
                f"{avals[i]} and result {j} is {result_avals[j]}. Only arrays of one type can share memory."
            )
    return result_avals


@ffi_call_p.def_pp
def ffi_call_pp(params: dict[str, Any]) -> dict[str, Any]:
    hidden = ("result_avals",) if params["has_side_effect"] else ("result_avals", "has_side_effect")
    return {name: x for name, x in params.items() if name not in hidden and x not in (None, ())}


_DERIVATIVE = (
    "calque cannot look into a kernel. Put the call into a function that has a derivative of its own, made with "
    "custom_jvp or custom_vjp"
)
ffi_call_p.def_hole("impl", "a kernel runs by a backend. Import calque_xla_backend, which has the kernels")
ffi_call_p.def_hole("jvp", _DERIVATIVE)
ffi_call_p.def_hole("transpose", _DERIVATIVE)
ffi_call_p.def_hole("jet", "calque cannot look into a kernel")


def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: VmapMethod | None = None,
    input_output_aliases: Mapping[int, int] | None = None,
) -> Callable[..., Any]:
    """Return a function of arrays that calls the kernel registered as `target_name`.

    `result_shape_dtypes` is a pytree of `ShapeDtypeStruct`s, or of arrays, that declares the results.  The function
    takes the operands by position, and the kernel's attributes by name: a bool, a str, an int (64 bits), a float
    (64 bits), a scalar of NumPy's (whose dtype counts) or a NumPy array of rank 1.  With `has_side_effect` the call is
    never removed or moved.  `vmap_method` is as for `pure_callback`; with "expand_dims" and "broadcast_all", the kernel
    takes operands with more axes in front.  `input_output_aliases` maps positions of operands to those of the results
    that the kernel writes over them.  Operands and results are stored by rows.
    Raises: TypeError for a `target_name` that is no string, a leaf that declares no type, an operand that is no array,
    and an attribute of another kind; ValueError for another `vmap_method` and for aliases of different types.

    >>> import numpy as np
    >>> from calque_core import ffi_call, make_jaxpr
    >>> x = np.ones(3)
    >>> print(make_jaxpr(lambda x: ffi_call("my_norm", x)(x, eps=np.float32(0.5)))(x))
    { lambda ; a:f64[3]. let
        b:f64[3] = ffi_call[
          attributes=(('eps', np.float32(0.5)),)
          target_name=my_norm
        ] a
      in (b,) }
    """
    if not isinstance(target_name, str):
        raise TypeError(f"ffi_call{where()} got {describe_value(target_name)} as target_name. Give the target's name.")
    caller = f"ffi_call of {target_name!r}"
    vmap_method = canonical_vmap_method(caller, vmap_method)
    result_avals, out_tree = declared_results(caller, result_shape_dtypes)
    aliases = tuple(sorted((input_output_aliases or {}).items()))

    @api_boundary
    def call_target(*args: Value, **attributes: Any) -> Any:
        check_arrays(args, lambda: [f"operand {i}" for i in range(len(args))], caller)
        outs = ffi_call_p.bind(
            *args,
            target_name=target_name,
            result_avals=result_avals,
            attributes=tuple((name, _attribute(caller, name, x)) for name, x in sorted(attributes.items())),
            has_side_effect=bool(has_side_effect),
            vmap_method=vmap_method,
            aliases=aliases,
        )
        return out_tree.unflatten(outs)

    return call_target


def _attribute(caller: str, name: str, value: Any) -> Attribute:
    """Return an attribute as a parameter of an equation.  Raises: TypeError."""
    if isinstance(value, (bool, int, float, str)) or (isinstance(value, np.generic) and value.dtype.kind in "biuf"):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biuf":
        return ArrayAttribute(value.dtype, tuple(value.tolist()))
    raise TypeError(
        f"{caller}{where()} got {describe_value(value)} as the attribute {name!r}. Use a bool, an int, a float, a str, "
        "a scalar of NumPy's or a NumPy array of rank 1; traced values are operands, by position."
    )
