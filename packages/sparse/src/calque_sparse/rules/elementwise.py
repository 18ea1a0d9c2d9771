"""Operations on each element: the union of the operands' sets, less where a known value makes a derivative zero.

Read next: `detection.elementwise_rule`, which serves the operations that this module does not name.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from calque_core import lax
from calque_sparse.detection import Operand, Products, elementwise_rule, no_pairs
from calque_sparse.rules.moves import moved
from calque_sparse.sets import EMPTY, Ids, Sets

# Linear in pieces, with kinks at which there is no second derivative
for primitive in (
    lax.add_p, lax.sub_p, lax.add_any_p, lax.neg_p, lax.max_p, lax.min_p, lax.clamp_p, lax.rem_p, lax.select_n_p,
    lax.guard_p, lax.convert_element_type_p, lax.name_p, lax.nextafter_p,
):  # fmt: skip
    primitive.def_rule("sparsity_pairs", no_pairs)


def cut(operand: Operand, is_zero: Any) -> Ids:
    """Return the sets of an operand, empty where the derivative in it is known to be zero."""
    return np.where(is_zero, EMPTY, operand.ids)


def is_zero(operand: Operand) -> Any:
    """Return where an operand is known to be zero."""
    return np.equal(operand.value, 0) if operand.is_known else np.False_


@lax.mul_p.def_rule("sparsity")
def mul_sparsity(sets: Sets, x: Operand, y: Operand) -> Ids:
    return sets.union(cut(x, is_zero(y)), cut(y, is_zero(x)))


lax.mul_p.def_rule("sparsity_pairs", lambda products, x, y: products.of(x.ids, y.ids))


@lax.div_p.def_rule("sparsity_pairs")
def div_pairs(products: Products, x: Operand, y: Operand) -> Ids:
    """Return the products of x and y, and those of y: a quotient is linear in x."""
    return products.as_sets.union(products.of(x.ids, y.ids), products.squares(y.ids))


# The modulus of a complex number is not linear in its parts.
lax.abs_p.def_rule("sparsity_pairs", lambda products, x: products.squares(cut(x, x.aval.dtype.kind != "c")))
lax.sign_p.def_rule("sparsity", lambda sets, x: cut(x, x.aval.dtype.kind != "c"))


@lax.select_n_p.def_rule("sparsity")
@lax.guard_p.def_rule("sparsity")
def select_sparsity(sets: Sets, which: Operand, *cases: Operand) -> Ids:
    """Return the sets of the case that a known choice chooses."""
    if not which.is_known:
        return elementwise_rule(sets, *cases)
    return np.asarray(moved(lax.select_n_p, which.value, *[x.ids for x in cases]))


def extremum_sparsity(loses: np.ufunc, sets: Sets, x: Operand, y: Operand) -> Ids:
    """Return the sets of the known number that does not lose, and of both in a tie."""
    if not (x.is_known and y.is_known):
        return elementwise_rule(sets, x, y)
    return sets.union(cut(x, loses(x.value, y.value)), cut(y, loses(y.value, x.value)))


lax.max_p.def_rule("sparsity", partial(extremum_sparsity, np.less))
lax.min_p.def_rule("sparsity", partial(extremum_sparsity, np.greater))
