"""Ordered effects in a module: a token that each of them takes, and gives to the next.

One idea: `ModuleContext.token` is the token at the current insertion point.  An operation with an ordered effect uses
it and replaces it; a region gets a token at its start and returns one at its end; so does a function of the module.

Read next: `host_calls.py`, the operations with effects; `rules/calls/while_loop.py`, whose loops carry a token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import Effect
from calque_xla_backend.modules.lowering import LoweringRuleContext, ModuleContext
from calque_xla_backend.modules.types import IrValue

Build = Callable[..., Sequence[IrValue]]


def current_token(module_context: ModuleContext) -> IrValue:
    """Return the token at the current insertion point; the first of a module is made here."""
    if module_context.token is None:
        module_context.token = hlo.create_token()
    return module_context.token


def has_ordered(effects: Iterable[Any]) -> bool:
    """Tell whether some effect must keep its place in the order of the program.

    >>> from calque_core import Effect
    >>> has_ordered([Effect("log")]), has_ordered([Effect("log", ordered=True)])
    (False, True)
    """
    return any(isinstance(effect, Effect) and effect.ordered for effect in effects)


def needs_token(ctx: LoweringRuleContext) -> bool:
    """Tell whether the equation has an ordered effect."""
    return has_ordered(ctx.eqn.effects)


def threaded(module_context: ModuleContext, build: Build) -> Build:
    """Return `build` with a token as its first argument and its first result."""

    def build_with_token(token: IrValue, *values: IrValue) -> list[Any]:
        module_context.token = token
        outs = build(*values)
        return [module_context.token, *outs]

    return build_with_token
