"""Straight-line code that flattens the trees of one structure.

Owns `compile_fit` (the fast path of `flatten_up_to`) and `compile_match` (which flattens a tree that has exactly a
known structure). The one idea: a statement per node reads its children into variables, and refuses a node that differs;
equal neighbours are visited in a loop.

Measured on 198 arrays in nested dicts: fit and flatten take an eighth of the loops' time; on 166 nodes with functions
of a user's, whose calls take half of it: flatten takes a fifth.

Read next: `recent.py`, which decides when `compile_match` pays; `generated.py` for the tools.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_, itemgetter
from typing import TypeAlias

from calque_pytree.build import Nodes
from calque_pytree.comparison import EXACT_TYPES, has_plain_data, is_same
from calque_pytree.compiling import Fit
from calque_pytree.generated import Constants, Lines, bind, indented, targets
from calque_pytree.kinds import (
    DICT,
    LIST,
    NAMEDTUPLE,
    NONE,
    TUPLE,
    Attributes,
    Node,
    NodeData,
    Tree,
    insertion_order,
    leaf_order,
    node_class,
)
from calque_pytree.runs import Item, Runs, find_runs, fold_outline, is_plain, outline_of

MAX_COMPARED = 4
"""Keys of a dict that are compared one by one, which takes 0.1 us instead of 0.2 for two keys, but costs 6 us of
compilation for each."""

MIN_LEAVES = 7
"""Neighbouring leaves that are read together: to write them out takes as long in a call, and costs 4 us for each."""

LinesOf: TypeAlias = Callable[[Node, str, Sequence[str], Constants], Lines]


def compile_fit(nodes: Nodes) -> Fit | None:
    """Return a function that returns the subtrees of a tree at the leaves of `nodes`.

    If the tree does not fit, it returns None or raises any exception; `align` then says why. Return None if the code
    would be too long.
    """
    runs = find_runs(nodes, MIN_LEAVES)
    return None if runs is None else Descent(nodes, runs, fit_lines).compiled()


def compile_match(nodes: Nodes) -> Fit | None:
    """Return a function from a tree of exactly the structure `nodes` to its leaves.

    "Exactly" includes the order of dicts and the classes of keys and data, so that the treedef of the tree may be
    replaced by the one that holds `nodes`. From any other tree the function returns None or raises any exception. The
    caller checks that the returned values are leaves. Return None if a node has data that only a user's function can
    compare, or if the code would be too long.
    """
    runs = find_runs(nodes, MIN_LEAVES) if has_plain_nodes(nodes) else None
    return None if runs is None else Descent(nodes, runs, match_lines).compiled()


class Descent:
    """Writes the statements that flatten a tree of structure `nodes` from the root to the leaves, by `lines_of`."""

    __slots__ = ("constants", "lines_of", "nodes", "runs")

    def __init__(self, nodes: Nodes, runs: Runs, lines_of: LinesOf) -> None:
        self.nodes, self.runs, self.lines_of, self.constants = nodes, runs, lines_of, Constants()

    def compiled(self) -> Fit:
        body, leaves = self.lines(0, len(self.nodes))
        return bind("n0", [*body, f"return [{targets(leaves)}]"], self.constants)

    def lines(self, start: int, end: int) -> tuple[Lines, list[str]]:
        """Return the statements that flatten the subtree from `start` to `end`, and the names of its leaves."""
        items = outline_of(self.nodes, self.runs, start, end)
        children: dict[int, tuple[str, ...]] = {}

        def record(position: int, names: tuple[str, ...]) -> str:
            children[position] = names
            return f"n{position}"

        fold_outline(items, variable_of, record)
        body: Lines = []
        leaves: list[str] = []
        for item in items:
            node = self.nodes[item.position]
            if item.run is not None:
                body += self.run_lines(item)
                leaves.append(f"*r{item.position}")
            elif node is None:
                leaves.append(f"n{item.position}")
            else:
                body += self.lines_of(node, f"n{item.position}", children[item.position], self.constants)
        return body, leaves

    def run_lines(self, item: Item) -> Lines:
        """Return the statements that replace the subtrees of a run, in the list `r`, by their leaves."""
        assert item.run is not None, item
        first = item.position
        if self.nodes[first] is None:
            return []
        body, leaves = self.lines(first, first + item.run.size)
        values = f"({targets(leaves)})"
        if body and body[-1].startswith(f"{values} = ") and not body[-1].endswith(" below"):  # that checks the length
            values = body.pop().removeprefix(f"{values} = ")
        body += [f"o{first} += {values}"] if leaves else []
        return [f"o{first} = []", f"for n{first} in r{first}:", *indented(body or ["pass"]), f"r{first} = o{first}"]


def variable_of(item: Item) -> str:
    """Return the variable of a leaf or a run, as the target of an assignment."""
    return f"n{item.position}" if item.run is None else f"*r{item.position}"


def refuse(condition: str) -> str:
    return f"if {condition}: return None"


def unpack(children: Sequence[str], value: str) -> Lines:
    return [f"({targets(children)}) = {value}"] if children else []


def unpack_keys(keys: NodeData, variable: str, children: Sequence[str], constants: Constants) -> Lines:
    if len(keys) == 1:
        return [f"{children[0]} = {variable}[{constants.name(keys[0])}]"]
    return unpack(children, f"{constants.name(itemgetter(*keys))}({variable})") if children else []


def fit_lines(node: Node, variable: str, children: Sequence[str], constants: Constants) -> Lines:
    """Return the statements that flatten one node if it equals `node` up to the order of a dict.

    String keys are compared with `==` only: to check their types would cost 5 us for a tree of 198 leaves.
    """
    kind, arity, data = node
    if kind is NONE:
        return [refuse(f"{variable} is not None")]
    wrong_type = f"type({variable}) is not {constants.name(node_class(node))}"
    if kind is DICT:
        values = unpack_keys(data, variable, children, constants)
        return [refuse(f"{wrong_type} or len({variable}) != {arity}{other_keys(node, variable, constants)}"), *values]
    if kind in (TUPLE, LIST, NAMEDTUPLE):
        return [refuse(f"{wrong_type} or len({variable}) != {arity}"), *unpack(children, variable)]
    same = constants.name(is_same)
    if kind.attributes is not None:
        pairs = [(f"d{i}", constants.name(value)) for i, value in enumerate(data)]
        other_data = " or ".join(f"({d} is not {value} and not {same}({d}, {value}))" for d, value in pairs)
        read = attribute_lines(kind.attributes, variable, children, constants)
        return [refuse(wrong_type), *read, *([refuse(other_data)] if other_data else [])]
    expected_data = constants.name(data)
    return [
        refuse(wrong_type),
        f"below, data = {constants.name(kind.flatten)}({variable})",
        refuse(f"len(below) != {arity} or not (data is {expected_data} or {same}(data, {expected_data}))"),
        *unpack(children, "below"),
    ]


def other_keys(node: Node, variable: str, constants: Constants) -> str:
    """Return the condition that a key equals one of `node` but differs in type or sign; empty if `==` suffices."""
    if has_plain_data(node):
        return ""
    kinds = {*map(type, node[2])}
    if len(kinds) == 1 and kinds <= EXACT_TYPES:
        return f" or {{*map(type, {variable})}} != {constants.name(kinds)}"
    keys, order = constants.name(tuple(node[2])), constants.name(leaf_order)
    return f" or not {constants.name(is_same)}({order}(({'*' + variable},)), {keys})"


def attribute_lines(attributes: Attributes, variable: str, children: Sequence[str], constants: Constants) -> Lines:
    """Return the statement that reads a dataclass into the variables of its children, and its data into d0, d1, ..."""
    data = [f"d{i}" for i in range(len(attributes.names) - attributes.num_children)]
    return unpack([*children, *data], f"{constants.name(attributes.read)}({variable})")


def has_plain_nodes(nodes: Nodes) -> bool:
    """Return whether the nodes keep no array of a user's program alive, and code can tell them from all others."""
    return all(node is None or can_match(node) for node in nodes)


def can_match(node: Node) -> bool:
    """Return whether `match_lines` can tell `node` from every other node."""
    kind, _, data = node
    if kind is DICT:
        return all(type(key) is str for key in data)
    return is_plain(data)


def differs(variable: str, value: NodeData, constants: Constants) -> str:
    """Return the condition that `variable` differs from the plain `value`; 1.0 and 1 are equal but differ."""
    name = constants.name(value)
    if type(value) in (int, str, bytes):
        other = f"type({variable}) is not {constants.name(type(value))} or {variable} != {name}"
    elif type(value) is tuple and not any(type(item) is tuple for item in value):
        items = [differs(f"{variable}[{i}]", item, constants) for i, item in enumerate(value)]
        wrong_tuple = f"type({variable}) is not {constants.name(tuple)} or len({variable}) != {len(value)}"
        other = " or ".join([wrong_tuple, *items])
    elif type(value) is tuple:
        other = f"not {constants.name(is_same)}({variable}, {name})"
    else:
        return f"{variable} is not {name}"
    return f"({variable} is not {name} and ({other}))"


def match_lines(node: Node, variable: str, children: Sequence[str], constants: Constants) -> Lines:
    """Return the statements that flatten one node if it is exactly `node`."""
    kind, arity, data = node
    if kind in (NONE, TUPLE, LIST, NAMEDTUPLE) or (kind is DICT and not arity):
        return fit_lines(node, variable, children, constants)
    wrong_type = f"type({variable}) is not {constants.name(node_class(node))}"
    if kind is DICT:
        return match_dict_lines(data, variable, children, constants)
    if kind.attributes is not None:
        other_data = " or ".join(differs(f"d{i}", value, constants) for i, value in enumerate(data))
        read = attribute_lines(kind.attributes, variable, children, constants)
        return [refuse(wrong_type), *read, *([refuse(other_data)] if other_data else [])]
    run = next((child[1:] for child in children if child.startswith("*")), None)  # an unpacking takes any length
    wrong_length = [refuse(f"len({run}) != {arity - len(children) + 1}")] if run else []
    return [
        refuse(wrong_type),
        f"below, data = {constants.name(kind.unchecked_flatten or kind.flatten)}({variable})",
        refuse(differs("data", data, constants)),
        *(unpack(children, "below") or [refuse("below is not None and len(below)")]),
        *wrong_length,
    ]


def match_dict_lines(keys: NodeData, variable: str, children: Sequence[str], constants: Constants) -> Lines:
    """Return the statements that flatten a dict if it has exactly these string keys, in their insertion order.

    Keys are nearly always the same objects as last time. A wrong number of few keys is an error of the unpacking.
    """
    order = list(insertion_order(keys))
    is_other = f"{constants.name(has_other_keys)}({variable}, {constants.name(order)})"
    check = [refuse(is_other)]
    if len(order) <= MAX_COMPARED:
        own_keys = [f"q{i}" for i in range(len(order))]
        others = " or ".join(f"{q} is not {constants.name(key)}" for q, key in zip(own_keys, order, strict=True))
        wrong_type = f"type({variable}) is not {constants.name(dict)}"
        check = [refuse(wrong_type), *unpack(own_keys, variable), refuse(f"({others}) and {is_other}")]
    if order == list(keys):
        values = unpack(children, f"{variable}.values()")
    elif len(children) == len(order):
        by_key = dict(zip(keys, children, strict=True))
        values = unpack([by_key[key] for key in order], f"{variable}.values()")
    else:
        values = unpack_keys(keys, variable, children, constants)
    return [*check, *values]


def has_other_keys(tree: Tree, keys: list[str]) -> bool:
    """Return whether `tree` is no dict of these string keys, in order; a key that equals one may be no string."""
    if type(tree) is not dict or len(tree) != len(keys):
        return True
    return not all(map(is_, tree, keys)) and ([*tree] != keys or {*map(type, tree)} != {str})
