"""A user's rule for batches of one function, as a function of lists.

One idea: the rule gets whole batches with their axis in front, and a bool in place of each array; it says which of its
results have the axis.

Read next: `ops/custom_closures.py` for the signature on lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core.calls.api_util import call as call_function
from calque_core.calls.api_util import check_arrays
from calque_core.custom.custom_call import CustomCall, returned_pair
from calque_core.ops.custom_closures import BatchRule
from calque_core.staging.stage import stage
from calque_core.types.avals import typeof
from calque_pytree import flatten_axes, tree_flatten

Value = Any
Rule = Callable[..., Any]


def flat_batch(call: CustomCall, rule: Rule) -> BatchRule:
    """Return a user's batching rule as a function of lists.

    `rule(axis_size, in_batched, *args)` returns `(out, out_batched)`; `in_batched` and `out_batched` are pytrees of
    bools, one for each array.
    Raises: TypeError or ValueError, naming rule and function, if the results do not fit those of the function.
    """

    def batch(size: int, is_mapped: Sequence[bool], leaves: Sequence[Value]) -> tuple[list[Value], list[bool]]:
        if call.out_tree is None:  # the function has not run, so its types are not known
            in_avals = [_element(x) if m else typeof(x) for x, m in zip(leaves, is_mapped)]
            stage(call.fun, in_avals, verb="vmap", user_fun=call.signature.fun)
        args = call.signature.merged(call.statics, call.in_tree.unflatten(leaves))
        mapped = call.signature.merged([False] * len(call.statics), call.in_tree.unflatten(is_mapped))
        who = call.rule_name("batching rule", rule)
        returned = call_function(rule, "the batching rule", size, tuple(mapped), *args)
        out, is_batched = returned_pair(who, returned, "whether it is batched")
        outs, tree = tree_flatten(out)
        try:
            out_batched = flatten_axes("out_batched", tree, is_batched)
        except ValueError as error:
            raise TypeError(f"{who}: {error}") from None
        check_arrays(outs, lambda: [f"output {i}" for i in range(len(outs))], who, "Return arrays and scalars.")
        for x, m in zip(outs, out_batched):
            _check_batch(who, x, m, size)
        avals = [_element(x) if m else typeof(x).strip_weak_type() for x, m in zip(outs, out_batched)]
        call.check_form(tree, avals, f"{who}, for one element,")
        return outs, out_batched

    return batch


def _element(batch: Value) -> Any:
    """Return the type of one element of a batch."""
    aval = typeof(batch).strip_weak_type()
    return aval.update(shape=aval.shape[1:])


def _check_batch(who: str, out: Value, is_batched: Any, size: int) -> None:
    """Check that an output of a batching rule has a batch axis in front if the rule says so.

    Raises: TypeError if `is_batched` is not a bool; ValueError if the first axis does not have the batch's size.
    """
    if not isinstance(is_batched, (bool, np.bool_)):
        raise TypeError(f"{who} returned out_batched={is_batched!r}. Return True or False for each output.")
    if is_batched and typeof(out).shape[:1] != (size,):
        raise ValueError(
            f"{who} returned {typeof(out)} as a batch of {size}. Put the batch axis, of size {size}, in front, or "
            "return False for an output without a batch axis."
        )
