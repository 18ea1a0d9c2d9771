"""`custom_vmap`: a function with its own rule for batches; `sequential_vmap`: the rule that computes them one by one.

Read next: `rules/calls/custom.py`, which applies the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, TypeVar

from calque_core import CustomRules, lax
from calque_core.engine import CustomCall, CustomFunction, flat_batch
from calque_core.extend import check_callable, marked, merged, unmarked
from calque_pytree import tree_flatten

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
Value = Any
Rule = Callable[..., Any]


class custom_vmap(CustomFunction[P, R]):
    """Return `fun` as a function that `vmap` maps by the rule of `def_vmap`.

    Derivatives keep the rule, in both modes and at any order.  `grad(vmap(fun))` differentiates the rule.
    `vmap(grad(fun))` agrees with it: the derivative of a function with a rule for batches is the derivative of the
    function, with the derivative of the rule as its rule; the transpose of both is the transpose of their linear half.
    Static arguments may be any objects; the rule takes them at their positions.
    Raises, when called under a transformation: AttributeError if it has no rule.

    >>> import numpy as np
    >>> from calque_batching import custom_vmap, vmap
    >>> from calque_core import lax
    >>> @custom_vmap
    ... def total(x):
    ...     return lax.reduce_sum(x)
    >>> @total.def_vmap
    ... def total_of_batch(axis_size, in_batched, x):
    ...     return lax.dot(x, np.ones(3)), True
    >>> vmap(total)(np.ones((2, 3)))
    array([3., 3.])
    """

    verb = "custom_vmap"
    rule: Rule | None = None

    def __init__(
        self,
        fun: Callable[P, R],
        *,
        static_argnums: int | Sequence[int] = (),
        static_argnames: str | Iterable[str] = (),
    ) -> None:
        super().__init__(fun, static_argnums=static_argnums, static_argnames=static_argnames)

    def def_vmap(self, vmap_rule: F) -> F:
        """Give the rule: `vmap_rule(axis_size, in_batched, *args) -> (out, out_batched)`; return it.

        Batched arguments have their batch axis in front; `in_batched` is a list of pytrees, one for each argument, with
        a bool in place of each array.  `out_batched` is a bool, or a pytree of them like `out`; where it is True, `out`
        has the batch axis in front.
        """
        check_callable(vmap_rule, "def_vmap")
        self.rule = vmap_rule
        return vmap_rule

    def rules(self, call: CustomCall) -> CustomRules:
        """Return the rule, on lists, for one call."""
        if self.rule is None:
            raise self._without_rule("def_vmap")
        return call.rules((self.rule,), batch=flat_batch(call, self.rule))


def sequential_vmap(fun: Callable[P, R]) -> custom_vmap[P, R]:
    """Return `fun` as a function that `vmap` computes for one element after the other, in a loop.

    For a function that cannot be mapped, or needs too much memory for a whole batch.
    Shapes: as `vmap` of `fun`.

    >>> import numpy as np
    >>> from calque_batching import sequential_vmap, vmap
    >>> vmap(sequential_vmap(lambda x: x * x))(np.arange(3.0))
    array([0., 1., 4.])
    """
    mapped = custom_vmap(fun)

    @mapped.def_vmap
    def one_by_one(axis_size: int, in_batched: Any, *args: Any) -> tuple[Any, Any]:
        leaves, treedef = tree_flatten(args)
        is_mapped = treedef.flatten_up_to(tuple(in_batched))
        shared = unmarked(leaves, is_mapped)

        def step(elements: Sequence[Value]) -> Any:
            return mapped(*treedef.unflatten(merged(is_mapped, elements, shared)))  # type: ignore[call-arg]

        return lax.map(step, marked(leaves, is_mapped)), True

    return mapped
