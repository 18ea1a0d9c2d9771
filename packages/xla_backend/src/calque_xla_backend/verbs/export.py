"""`export` and `deserialize`: jitted functions as bytes, which other processes run without the Python that made them.

One idea: an exported function is a traced stage, lowered to a version of StableHLO that every release of jaxlib that we
take can read, with plain data about its arguments.

Read next: `artefacts/exported.py`, the result; `artefacts/format.py`, its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib import version as jaxlib_version

from calque_core import Jaxpr, ShapeDtypeStruct, api_boundary, eval_context
from calque_core import __version__ as calque_version
from calque_core.engine import entered, lower_values
from calque_core.extend import describe_function, marked, merged, run_program, unmarked, where
from calque_xla_backend.artefacts.errors import ExportError, damaged
from calque_xla_backend.artefacts.exported import Exported, float_mask
from calque_xla_backend.artefacts.format import MAX_VJP_ORDER, Contents, decode
from calque_xla_backend.artefacts.module import check_targets
from calque_xla_backend.modules.module import lower_jaxpr_to_module
from calque_xla_backend.runtime.clients import default_platform
from calque_xla_backend.runtime.partition import Partition
from calque_xla_backend.runtime.portable import to_portable
from calque_xla_backend.verbs.jit import jit
from calque_xla_backend.verbs.stages import Traced, check_arrays_alone

Value = Any
VJP = Callable[..., Any]


@api_boundary
def export(fun: Any, *, platforms: Sequence[str] | None = None, vjp: VJP | None = None) -> Callable[..., Exported]:
    """Return a function that exports the jitted function `fun` for arguments of some types.

    The returned function takes arrays or `ShapeDtypeStruct`s, and the values of static arguments.  `platforms` names
    one platform, by default that of the devices here.  `vjp` is the function of that name in calque_autodiff, for
    exported derivatives; `calque.export` passes it.
    Raises: ExportError if `fun` is not jitted, for two platforms, and, when called, for a program that depends on this
    process: callbacks, foreign functions; MissingRuleError for an operation without a lowering rule.

    >>> import numpy as np
    >>> from calque_core import ShapeDtypeStruct
    >>> from calque_xla_backend import deserialize, export, jit
    >>> data = export(jit(lambda x: x * 2.0))(ShapeDtypeStruct((2,), np.float64)).serialize()
    >>> deserialize(data).call(np.array([1.0, 2.0]))
    Array([2., 4.], dtype=float64)
    """
    if not callable(getattr(fun, "trace", None)):
        raise ExportError(f"export{where()} got {describe_function(fun)}, which is not jitted. Pass jit(function).")
    chosen = (default_platform(),) if platforms is None else tuple(platforms)
    if isinstance(platforms, str) or len(chosen) != 1:
        raise ExportError(
            f"export{where()} got platforms={platforms!r}. Give a tuple of one platform, and export once for each."
        )

    @api_boundary
    def exported(*args: Value, **kwargs: Value) -> Exported:
        return _exported(fun.trace(*args, **kwargs), chosen[0], vjp)

    return exported


def _exported(traced: Traced, platform: str, vjp: VJP | None) -> Exported:
    check_arrays_alone(traced)
    jaxpr, origin = lower_values(traced.jaxpr), traced._origin
    if isinstance(origin.place, Partition):
        raise ExportError(
            f"export of {traced.fun_name}{where()}: the program runs on the devices of {origin.place.mesh!r}, and an "
            "exported program runs on one device. Export the function without its shard_map, pmap and shardings."
        )
    with entered(settings=origin.settings), eval_context():
        lowered = lower_jaxpr_to_module(jaxpr, name=traced.fun_name, platform=platform)
        if jaxpr.effects or lowered.callbacks:
            raise ExportError(
                f"export of {traced.fun_name}{where()}: the function calls Python, by a callback, a check or "
                "debug.print, and its bytes hold no Python. Export the function without these calls; "
                "config.checks(False) leaves out checks."
            )
        check_targets(lowered.module)
        contents = Contents(
            fun_name=traced.fun_name,
            platform=platform,
            versions={"calque": calque_version, "jaxlib": jaxlib_version.__version__},
            enable_x64=origin.settings.enable_x64,
            in_tree=traced.in_tree,
            out_tree=traced.out_tree,
            positions=origin.signature.positions,
            parameters=origin.signature.parameters,
            names=origin.signature.names,
            in_avals=tuple(jaxpr.in_avals),
            out_avals=tuple(jaxpr.out_avals),
            constants=tuple([np.array(const, aval.dtype) for const, aval in lowered.const_args]),
            module=to_portable(lowered.module),
        )
        return Exported(contents, None if vjp is None else _once(lambda: _derivative(jaxpr, platform, vjp)))


def _derivative(jaxpr: Jaxpr, platform: str, vjp: VJP) -> Exported:
    """Return the exported function that `Exported.vjp` describes."""
    floats, out_floats = float_mask(jaxpr.in_avals), float_mask(jaxpr.out_avals)

    def pull_back(primals: list[Value], out_bars: list[Value]) -> list[Value]:
        def outputs(*xs: Value) -> list[Value]:
            outs = run_program(jaxpr, merged(floats, xs, unmarked(primals, floats)))
            return marked(outs, out_floats)

        if not any(floats):
            return []
        _, backward = vjp(outputs, *marked(primals, floats))
        return list(backward(out_bars))

    pull_back.__name__ = f"vjp_of_{jaxpr.debug_name}"
    primals = [ShapeDtypeStruct(aval.shape, aval.dtype) for aval in jaxpr.in_avals]
    out_bars = [ShapeDtypeStruct(aval.shape, aval.dtype) for aval in marked(jaxpr.out_avals, out_floats)]
    return export(jit(pull_back), platforms=(platform,), vjp=vjp)(primals, out_bars)


def _once(make: Callable[[], Exported]) -> Callable[[], Exported]:
    """Return a function that returns `make()`, computed at its first call."""
    results: list[Exported] = []

    def value() -> Exported:
        if not results:
            results.append(make())
        return results[0]

    return value


@api_boundary
def deserialize(blob: bytes | bytearray) -> Exported:
    """Return the exported function that `Exported.serialize` turned into bytes.

    The bytes are a program: read them only if you trust their author.  Damaged bytes are an error; see `calque.export`.
    Raises: ExportError for any other bytes, for a newer format, and for a class of pytrees that is not registered here;
    TypeError if `blob` is no bytes.

    >>> import numpy as np
    >>> from calque_xla_backend import deserialize, export, jit
    >>> blob = export(jit(lambda x: x * 2.0))(np.ones(2)).serialize()
    >>> deserialize(blob).call(np.array([1.0, 3.0]))
    Array([2., 6.], dtype=float64)
    """
    if not isinstance(blob, (bytes, bytearray, memoryview)):
        raise TypeError(f"deserialize{where()} got a value of type {type(blob).__name__}. Give bytes.")
    return _read(bytes(blob), MAX_VJP_ORDER)


def _read(data: bytes, order: int) -> Exported:
    """Return the exported function in `data`, with at most `order` derivatives."""
    contents = decode(data)
    if not contents.derivative:
        return Exported(contents)
    if not order:
        raise damaged("it has too many derivatives")
    derivative = _read(contents.derivative, order - 1)
    _check_derivative(contents, derivative)
    return Exported(contents, lambda: derivative)


def _check_derivative(contents: Contents, derivative: Exported) -> None:
    """Check that a derivative has the signature of `Exported.vjp`.  Raises: ExportError."""
    bars = marked(contents.out_avals, float_mask(contents.out_avals))
    types = _types([*contents.in_avals, *bars]), _types(marked(contents.in_avals, float_mask(contents.in_avals)))
    if types != (_types(derivative.in_avals), _types(derivative.out_avals)):
        raise damaged("its derivative has other types than the function")


def _types(avals: Sequence[Any]) -> list[Any]:
    return [aval.strip_weak_type() for aval in avals]
