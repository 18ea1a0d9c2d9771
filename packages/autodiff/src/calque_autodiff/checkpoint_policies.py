"""Policies: the results that the derivative of a checkpointed function keeps instead of computing them again.

One idea: a policy is a function of an operation, `policy(primitive, *avals, **params) -> bool`, from the types of its
operands and its parameters.  Where it returns True, the results are kept if the derivative needs them.  The policies of
this module compare by value and print as the call that makes them; write your own as plain functions.

Read next: `checkpoint.py`, which takes a policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calque_core.engine import name_of, short_repr
from calque_core.extend import describe_function, where
from calque_core.lax import dot_general_p, name_p

__all__ = [
    "everything_saveable", "nothing_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable", "checkpoint_dots",
    "checkpoint_dots_with_no_batch_dims", "save_only_these_names", "save_any_names_but_these",
    "save_anything_except_these_names", "save_from_both_policies",
]  # fmt: skip

Policy = Callable[..., bool]


def everything_saveable(primitive: Any, *avals: Any, **params: Any) -> bool:
    """Save all results, as without a checkpoint.

    >>> from calque_autodiff.checkpoint_policies import everything_saveable
    >>> from calque_core.lax import dot_general_p
    >>> everything_saveable(dot_general_p)
    True
    """
    return True


def nothing_saveable(primitive: Any, *avals: Any, **params: Any) -> bool:
    """Save no result, as without a policy.

    >>> from calque_autodiff.checkpoint_policies import nothing_saveable
    >>> from calque_core.lax import dot_general_p
    >>> nothing_saveable(dot_general_p)
    False
    """
    return False


def dots_saveable(primitive: Any, *avals: Any, **params: Any) -> bool:
    """Save the results of matrix products and convolutions: of bilinear primitives that are not elementwise.

    >>> from calque_autodiff.checkpoint_policies import dots_saveable
    >>> from calque_core.lax import dot_general_p, mul_p
    >>> dots_saveable(dot_general_p), dots_saveable(mul_p)
    (True, False)
    """
    is_product: bool = primitive.linearity == "bilinear" and not primitive.is_elementwise
    return is_product


def dots_with_no_batch_dims_saveable(primitive: Any, *avals: Any, **params: Any) -> bool:
    """Save the results of matrix products that are not batches of products.

    >>> from calque_autodiff.checkpoint_policies import dots_with_no_batch_dims_saveable
    >>> from calque_core.lax import dot_general_p
    >>> dots_with_no_batch_dims_saveable(dot_general_p, dimension_numbers=(((2,), (1,)), ((0,), (0,))))
    False
    """
    return primitive is dot_general_p and not any(params["dimension_numbers"][1])


checkpoint_dots = dots_saveable
checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable


@dataclass(frozen=True)
class ByName:
    """Decides by the name of a value: one answer for the listed names, one for other names, one for values without."""

    maker: str
    names: frozenset[str]
    listed: bool
    unlisted: bool
    unnamed: bool

    def __call__(self, primitive: Any, *avals: Any, **params: Any) -> bool:
        """Tell whether to save the results of an operation."""
        if primitive is not name_p:
            return self.unnamed
        return self.listed if params["name"] in self.names else self.unlisted

    def refuses(self, name: str) -> bool:
        """Tell whether a value of this name must not be saved, not even as the result of the operation before."""
        return self.unnamed and not self.listed and name in self.names

    def __repr__(self) -> str:
        return f"{self.maker}({', '.join(map(repr, sorted(self.names)))})"


def save_only_these_names(*names: str) -> Policy:
    """Return a policy that saves the values that `checkpoint_name` gave one of these names.

    Raises: TypeError if a name is not a string.

    >>> from calque_autodiff.checkpoint_policies import save_only_these_names
    >>> save_only_these_names("hidden")
    save_only_these_names('hidden')
    """
    return _by_name("save_only_these_names", names, listed=True, unlisted=False, unnamed=False)


def save_any_names_but_these(*names: str) -> Policy:
    """Return a policy that saves the values that `checkpoint_name` gave another name.

    Raises: TypeError if a name is not a string.

    >>> from calque_autodiff.checkpoint_policies import save_any_names_but_these
    >>> from calque_core.lax import name_p
    >>> save_any_names_but_these("hidden")(name_p, name="out")
    True
    """
    return _by_name("save_any_names_but_these", names, listed=False, unlisted=True, unnamed=False)


def save_anything_except_these_names(*names: str) -> Policy:
    """Return a policy that saves all results but the values that `checkpoint_name` gave one of these names.

    Raises: TypeError if a name is not a string.

    >>> from calque_autodiff.checkpoint_policies import save_anything_except_these_names
    >>> from calque_core.lax import name_p
    >>> save_anything_except_these_names("hidden")(name_p, name="hidden")
    False
    """
    return _by_name("save_anything_except_these_names", names, listed=False, unlisted=True, unnamed=True)


def _by_name(maker: str, names: tuple[str, ...], *, listed: bool, unlisted: bool, unnamed: bool) -> ByName:
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"{maker} got {name!r} of type {type(name).__name__}. Give the names, as strings; the result is the "
                f"policy: policy={maker}('hidden')."
            )
    return ByName(maker, frozenset(names), listed, unlisted, unnamed)


@dataclass(frozen=True)
class Either:
    """Saves the results that at least one of two policies saves."""

    first: Policy
    second: Policy

    def __call__(self, primitive: Any, *avals: Any, **params: Any) -> bool:
        """Tell whether to save the results of an operation."""
        return saves(self.first, primitive, avals, params) or saves(self.second, primitive, avals, params)

    def refuses(self, name: str) -> bool:
        """Tell whether both policies refuse to save a value of this name."""
        return refuses(self.first, name) and refuses(self.second, name)

    def __repr__(self) -> str:
        return f"save_from_both_policies({policy_name(self.first)}, {policy_name(self.second)})"


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Return a policy that saves the results that at least one of the two saves.

    Raises: TypeError if one of them is not a policy.

    >>> from calque_autodiff.checkpoint_policies import dots_saveable, save_from_both_policies, save_only_these_names
    >>> save_from_both_policies(dots_saveable, save_only_these_names("hidden"))
    save_from_both_policies(dots_saveable, save_only_these_names('hidden'))
    """
    for policy in (policy_1, policy_2):
        check_policy("save_from_both_policies", policy)
    return Either(policy_1, policy_2)


def check_policy(caller: str, policy: Any) -> None:
    """Check that `policy` can be called and, since it is part of keys, has a hash.

    Raises: TypeError.
    """
    if not callable(policy):
        raise TypeError(
            f"{caller} got {policy!r} of type {type(policy).__name__} as a policy. Give a function of an operation, "
            "such as checkpoint_policies.dots_saveable."
        )
    try:
        hash(policy)
    except TypeError as error:
        raise TypeError(
            f"{caller} got the policy {policy!r}, which has no hash ({error}). Give a function, or an object that can "
            "be compared and hashed."
        ) from error


def saves(policy: Policy, primitive: Any, avals: Sequence[Any], params: dict[str, Any]) -> bool:
    """Return the answer of a policy about an operation.

    Raises: TypeError if the policy does not take the operation, or if the answer is not a bool.
    """
    try:
        answer = policy(primitive, *avals, **params)
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:  # raised in the policy
            raise
        raise TypeError(
            f"the checkpoint policy {describe_function(policy)} does not take '{primitive.name}'{where()}: {error}. "
            "Let it take policy(primitive, *avals, **params), for every operation."
        ) from error
    if not isinstance(answer, (bool, np.bool_)):
        raise TypeError(
            f"the checkpoint policy {describe_function(policy)} returned {short_repr(answer)} for "
            f"'{primitive.name}'{where()}. Let it return True to save the results of an operation, False to compute "
            "them again."
        )
    return bool(answer)


def policy_name(policy: Policy) -> str:
    """Return the name of a policy in messages and prints."""
    return name_of(policy, str(policy))


def refuses(policy: Policy, name: str) -> bool:
    """Tell whether a policy refuses to save a value of this name, of any operation; only policies of this module do."""
    return isinstance(policy, (ByName, Either)) and policy.refuses(name)
