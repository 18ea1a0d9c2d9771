"""Which elements of a result depend on which elements of an argument: the pattern of a derivative, from the program.

One idea: each array of the program has an array of sets beside it, the columns on which its elements depend.  A second
array of sets, for Hessians, holds the products behind an element: pairs of sets whose columns meet in a second
derivative.  A rule says what an operation does to sets; it runs for both layers.

Rules, by kind: "sparsity", `rule(sets, *operands, **params)` returns the sets of the results; "sparsity_pairs",
`rule(products, *operands, **params)`, the products that a nonlinear operation makes; "sparsity_program" is for an
operation that holds programs.  Without a rule, an operation is decomposed; else each element depends on all elements.

Read next: `sets.py`; `rules/`, the tables; `patterns.py`, the public functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from calque_core import Jaxpr, JaxprEqn, Literal, eval_context, is_tracer, jaxprs_in_params, rules, stage
from calque_sparse.sets import EMPTY, Ids, Indices, Sets, counted, sorted_distinct

Value = Any
Params = dict[str, Any]
UNKNOWN: Any = object()
AT_ONCE = 1 << 24  # pairs that one step makes


class Operand(NamedTuple):
    """An array in the detection: its type, its value or `UNKNOWN`, and its sets by layer; none if all are empty.

    A rule gets operands of one layer, and reads `ids`.
    """

    aval: Any
    value: Value = UNKNOWN
    layers: tuple[Ids, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether the value is the same for all arguments for which the pattern holds."""
        return self.value is not UNKNOWN

    @property
    def ids(self) -> Ids:
        """The sets of the elements, in the first layer."""
        return self.layers[0] if self.layers else np.zeros(self.aval.shape, np.int32)

    def layer(self, number: int) -> Operand:
        """Return the operand with one layer alone."""
        return self._replace(layers=self.layers[number : number + 1])


class Products:
    """Products of sets, by number: the pairs of columns that may meet in a second derivative."""

    def __init__(self, sets: Sets) -> None:
        self.sets, self.as_sets = sets, Sets(1)  # of columns; of numbers of products
        self._index: dict[int, int] = {EMPTY: EMPTY}  # the set of each product, in the order of their numbers
        (self.nothing,) = self.as_sets.singletons(np.zeros(1, np.int64))  # product 0, of empty sets: it marks tangents

    def of(self, a: Any, b: Any) -> Ids:
        """Return sets of one product each, of the sets in `a` and `b`; empty where one of these is empty."""
        low, high = np.minimum(a, b).astype(np.int64), np.maximum(a, b)
        keys, places = np.unique(np.where(low == EMPTY, EMPTY, (low << 32) | high).ravel(), return_inverse=True)
        new = [key for key in keys.tolist() if key not in self._index]
        start = self.as_sets.num_columns
        self._index.update(zip(new, self.as_sets.singletons(np.arange(start, start + len(new))).tolist()))
        self.as_sets.num_columns = start + len(new)
        return np.array([self._index[key] for key in keys.tolist()], np.int32)[places].reshape(low.shape)

    def squares(self, ids: Any) -> Ids:
        """Return sets of one product each, of a set with itself."""
        return self.of(ids, ids)

    def pairs(self, ids: Ids) -> Indices:
        """Return the pairs of columns that the products in some sets multiply, each as row * columns + column."""
        _, numbers = self.as_sets.members(sorted_distinct(ids.ravel()))
        keys = np.fromiter(self._index, np.int64, len(self._index))[sorted_distinct(numbers)]
        totals = np.cumsum(self.sets.sizes(keys >> 32) * self.sets.sizes(keys & 0xFFFFFFFF))
        bounds = np.searchsorted(totals, np.arange(0, totals[-1] if len(keys) else 0, AT_ONCE)).tolist()
        found = np.zeros(0, np.int64)
        for begin, end in zip(bounds, [*bounds[1:], len(keys)]):
            found = sorted_distinct(np.append(found, self._pairs(keys[begin:end])))
        return found

    def _pairs(self, keys: Indices) -> Indices:
        (a_sizes, a), (b_sizes, b) = self.sets.members(keys >> 32), self.sets.members(keys & 0xFFFFFFFF)
        a_first, b_first = np.cumsum(a_sizes) - a_sizes, np.cumsum(b_sizes) - b_sizes
        of, at, width = (
            np.repeat(np.arange(len(keys)), a_sizes * b_sizes),
            counted(a_sizes * b_sizes),
            self.sets.num_columns,
        )
        rows, columns = a[a_first[of] + at // b_sizes[of]], b[b_first[of] + at % b_sizes[of]]
        return np.concatenate([rows * width + columns, columns * width + rows])


class Detection:
    """One run over a program, for one layer of sets, or for two with `products`.

    `order` is how many derivatives are still to be taken: those of a program; one less inside of a derivative rule.
    """

    def __init__(self, sets: Sets, products: Products | None = None, order: int = 1) -> None:
        self.products, self.order = products, order
        self.layers = (sets,) if products is None else (sets, products.as_sets)

    def run(self, jaxpr: Jaxpr, args: Sequence[Operand]) -> list[Operand]:
        """Return the dependence of the results of a program."""
        consts = [Operand(v.aval, UNKNOWN if is_tracer(c) else c) for v, c in zip(jaxpr.constvars, jaxpr.consts)]
        env: dict[Any, Operand] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *args)))
        for eqn in jaxpr.eqns:
            env.update(zip(eqn.outvars, self._equation(eqn, [_read(env, v) for v in eqn.invars])))
        return [_read(env, v) for v in jaxpr.outvars]

    def _equation(self, eqn: JaxprEqn, args: list[Operand]) -> list[Operand]:
        primitive, out_avals = eqn.primitive, [v.aval for v in eqn.outvars]
        depends = any(x.layers for x in args)
        if depends and (rule := rules("sparsity_program").get(primitive)) is not None:
            outs = rule(self, args, out_avals, eqn.params)
            return [settled(aval, out.value, out.layers) for aval, out in zip(out_avals, outs)]
        program = rules("means").get(primitive)
        if program is not None and len(list(jaxprs_in_params(eqn.params))) == 1:
            return self.run(program(**eqn.params), args)
        values = [UNKNOWN] * len(out_avals)
        if all(x.is_known for x in args) and not eqn.effects:
            with eval_context():
                values = as_list(primitive.bind(*[x.value for x in args], **eqn.params))
        if not depends or primitive.linearity == "constant":
            return list(map(Operand, out_avals, values))
        parts = rules("decomposition").get(primitive)
        if parts is not None and not primitive.is_elementwise and rules("sparsity").get(primitive) is None:
            return self.run(stage(lambda *xs: as_list(parts(*xs, **eqn.params)), [x.aval for x in args]), args)
        layers = self._operation(primitive, args, out_avals, eqn.params)
        return [settled(*out) for out in zip(out_avals, values, zip(*layers))]

    def _operation(self, primitive: Any, args: list[Operand], out_avals: list[Any], params: Params) -> list[list[Ids]]:
        """Return the sets of the results of an operation that holds no program, by layer."""
        rule = rules("sparsity").get(primitive)
        if rule is None:
            rule = elementwise_rule if primitive.is_elementwise else partial(dense_rule, out_avals)
        operands = [[x.layer(i) for x in args] for i in range(len(self.layers))]
        layers = [as_list(rule(sets, *xs, **params)) for sets, xs in zip(self.layers, operands)]
        pair_rule = rules("sparsity_pairs").get(primitive)
        in_one = primitive.linearity == "bilinear" and sum(bool(x.layers) for x in args) < 2
        is_linear = in_one or primitive.linearity == "linear" or pair_rule is no_pairs
        if self.products is not None and not is_linear:
            if pair_rule is None:
                made = [self.products.squares(ids) for ids in layers[0]]
            else:
                made = as_list(pair_rule(self.products, *operands[0], **params))
            layers[1] = [self.products.as_sets.union(*pair) for pair in zip(layers[1], made)]
        return layers


def _read(env: dict[Any, Operand], v: Any) -> Operand:
    return Operand(v.aval, v.val) if type(v) is Literal else env[v]


def settled(aval: Any, value: Value, layers: tuple[Ids, ...]) -> Operand:
    """Return the dependence of a result, without sets if all are empty, or if it has no derivative."""
    if not layers or not np.issubdtype(aval.dtype, np.inexact) or not np.any(layers[0]):
        return Operand(aval, value)
    return Operand(aval, value, tuple([np.broadcast_to(ids, aval.shape) for ids in layers]))


def as_list(outs: Any) -> list[Any]:
    """Return the results of a rule as a list."""
    return list(outs) if isinstance(outs, (list, tuple)) else [outs]


def elementwise_rule(sets: Sets, *operands: Operand, **params: Any) -> Ids:
    """Return the union of what the elements at a place depend on."""
    return sets.union(*[x.ids for x in operands])


def dense_rule(out_avals: Sequence[Any], sets: Sets, *operands: Operand, **params: Any) -> list[Ids]:
    """Return, for an operation of which nothing is known, that each element depends on all elements."""
    everything = sets.everything(*[x.ids for x in operands])
    return [np.full(aval.shape, everything) for aval in out_avals]


def no_pairs(products: Products, *operands: Operand, **params: Any) -> Any:
    """Declare as the rule of kind "sparsity_pairs" that an operation is linear in pieces: it makes no products."""
    return EMPTY
