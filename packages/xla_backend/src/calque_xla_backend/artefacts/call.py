"""`call_exported`: the operation that calls an exported function, with all its rules.

One idea: an exported function is one operation whose program only XLA can read.  It compiles as a call of a function of
the caller's module; its derivative is an exported function too; `vmap` computes one element after the other.

Read next: `module.py`, which merges the module; `exported.py`, which binds the operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from jaxlib.mlir.dialects import func

from calque_core import Jaxpr, Primitive, lax, make_jaxpr, moveaxis
from calque_core.extend import merged, unmarked, where
from calque_xla_backend.artefacts.format import Contents
from calque_xla_backend.artefacts.module import merge_module
from calque_xla_backend.compiler import compiler_of
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.types import IrValue

Value = Any

call_exported_p = Primitive("call_exported", multiple_results=True)


class Callee:
    """The parameter of `call_exported`: an exported function, compared by identity.  `program` is one call of it."""

    __slots__ = ("__weakref__", "contents", "program")

    def __init__(self, contents: Contents) -> None:
        self.contents = contents

        def call(*leaves: Value) -> list[Value]:
            return call_exported_p.bind(*contents.constants, *leaves, callee=self)  # type: ignore[no-any-return]

        self.program: Jaxpr = make_jaxpr(call)(*contents.in_avals).replace(debug_name=contents.fun_name)

    def __repr__(self) -> str:
        return self.contents.fun_name


@call_exported_p.def_abstract_eval
def call_exported_abstract_eval(*avals: Any, callee: Callee) -> list[Any]:
    return list(callee.contents.out_avals)


@call_exported_p.def_impl
def call_exported_impl(*operands: Value, callee: Callee) -> list[Value]:
    leaves = operands[len(callee.contents.constants) :]
    return compiler_of(())(callee.program, leaves)


@register_lowering(call_exported_p)
def call_exported_lowering(ctx: LoweringRuleContext, *values: IrValue, callee: Callee) -> Sequence[IrValue]:
    """Call the function, which the module gets at the first call."""
    contents, functions = callee.contents, ctx.module_context.functions
    if contents.platform != ctx.platform:
        raise ValueError(
            f"the exported {contents.fun_name}{where()} was exported for {contents.platform!r}, and this program is "
            f"for {ctx.platform!r}. Export it with platforms=({ctx.platform!r},)."
        )
    item = functions.get(id(callee))
    if item is None:
        item = functions[id(callee)] = callee.program, merge_module(ctx.module_context, contents.module)
    make_call: Any = func.CallOp
    return list(make_call(item[1], list(values)).results)


@call_exported_p.def_rule("jvp")
def call_exported_jvp(primals: Sequence[Value], tangents: Sequence[Value], *, callee: Callee) -> NoReturn:
    """Refuse: the operations are not known.  A function with an exported derivative has a rule of its own.

    Raises: TypeError.
    """
    raise TypeError(
        f"the exported {callee.contents.fun_name}{where()} has no derivative of this order or mode. Serialize it with "
        "a higher vjp_order, and use reverse mode."
    )


@call_exported_p.def_rule("batch")
def call_exported_batch(
    args: Sequence[Value], dims: Sequence[int | None], *, callee: Callee
) -> tuple[list[Value], list[int]]:
    """Loop over the batch: the shapes in the program are fixed."""
    is_mapped = [dim is not None for dim in dims]
    shared = unmarked(args, is_mapped)
    batches = [moveaxis(x, dim, 0) for x, dim in zip(args, dims) if dim is not None]
    outs = lax.map(lambda xs: call_exported_p.bind(*merged(is_mapped, xs, shared), callee=callee), batches)
    return list(outs), [0] * len(outs)


@call_exported_p.def_pp
def call_exported_pp(params: dict[str, Any]) -> dict[str, Any]:
    return {"name": params["callee"].contents.fun_name}
