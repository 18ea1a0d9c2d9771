"""Values for all processes of a program: broadcast, gather, compare, wait.

One idea: these functions exchange host values through the coordinator, without a compiled program; every process
calls them in the same order.  They are for values of moderate size, such as seeds, settings and metrics, 512 MiB in
all; large arrays are combined by the devices, in a jitted function over an array of all processes.

>>> from calque_xla_backend import multihost
>>> multihost.broadcast_one_to_all({"seed": 3})
{'seed': array(3)}

Read next: `processes/messages.py`, the exchange.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import PartitionSpec, typeof
from calque_core.engine import array_leaves, leaf_names, short_repr
from calque_core.extend import where
from calque_pytree import PyTreeDef
from calque_xla_backend.processes.devices import process_index
from calque_xla_backend.processes.messages import Message, exchange
from calque_xla_backend.runtime.array import Array as DeviceArray
from calque_xla_backend.runtime.distributed import current_group
from calque_xla_backend.runtime.sharding import NamedSharding
from calque_xla_backend.verbs.constraint import with_sharding_constraint
from calque_xla_backend.verbs.jit import jit

__all__ = ["assert_equal", "broadcast_one_to_all", "process_allgather", "sync_global_devices"]

Tree = Any
Array = np.ndarray[Any, Any]


def broadcast_one_to_all(in_tree: Tree, is_source: bool | None = None) -> Tree:
    """Return the pytree of one process, with NumPy arrays as leaves, in all processes.

    The source is the process with `is_source=True`, by default process 0.  The other processes give a tree of the same
    structure, shapes and dtypes, whose values do not matter.
    Raises: TypeError if a leaf is not an array; ValueError if there is not one source, or if the trees do not fit.

    >>> from calque_xla_backend import multihost
    >>> multihost.broadcast_one_to_all(1.5)
    array(1.5)
    """
    caller = f"multihost.broadcast_one_to_all{where()}"
    gives = process_index() == 0 if is_source is None else bool(is_source)
    leaves, names, tree = _host_leaves(in_tree, caller)
    note = {**_types(tree, leaves), "is_source": gives}
    messages = _exchange("multihost.broadcast_one_to_all", note, leaves if gives else ())
    sources = [i for i, message in enumerate(messages) if message.note["is_source"]]
    if len(sources) != 1:
        fault = f"the processes {', '.join(map(str, sources))} are sources" if sources else "no process is the source"
        raise ValueError(f"{caller}: {fault}. Let one process pass is_source=True, or none pass is_source.")
    _check_types(caller, names, messages)
    return tree.unflatten(messages[sources[0]].arrays)


def process_allgather(in_tree: Tree, tiled: bool = False) -> Tree:
    """Return a pytree whose leaves hold the arrays of all processes, as NumPy arrays.

    The processes give trees of one structure, with equal shapes and dtypes.  The arrays are stacked along a new axis 0,
    in the order of the processes; with `tiled`, they are joined along axis 0, scalars as arrays of one element.  A leaf
    that is an array over the devices of several processes needs `tiled`, and becomes the whole array.
    Raises: TypeError if a leaf is not an array; ValueError if the trees do not fit, or if `tiled` is missing.

    >>> import numpy as np
    >>> from calque_xla_backend import multihost
    >>> multihost.process_allgather(np.arange(3.0))
    array([[0., 1., 2.]])
    """
    caller = f"multihost.process_allgather{where()}"
    leaves, tree = array_leaves(caller, "in_tree", in_tree)
    names, divided = leaf_names("in_tree", in_tree), [_is_divided(x) for x in leaves]
    if any(divided) and not tiled:
        name = names[divided.index(True)]
        raise ValueError(f"{caller}: {name} is an array over devices of several processes. Use tiled=True.")
    arrays = [np.zeros(0) if whole else _on_host(x) for x, whole in zip(leaves, divided)]
    messages = _exchange("multihost.process_allgather", _types(tree, leaves), arrays)
    _check_types(caller, names, messages)
    gathered = zip(*(message.arrays for message in messages), strict=True)
    join = (lambda xs: np.concatenate([np.atleast_1d(x) for x in xs])) if tiled else np.stack
    return tree.unflatten([_whole(x) if whole else join(xs) for x, whole, xs in zip(leaves, divided, gathered)])


def _is_divided(x: Any) -> bool:
    return type(x) is DeviceArray and not x.is_fully_addressable


def _whole(x: Any) -> Array:
    """Return an array over devices of several processes as a NumPy array."""
    return np.array(_replicated(x, NamedSharding(x.sharding.mesh, PartitionSpec())))


_replicated = jit(with_sharding_constraint, static_argnums=1)


def assert_equal(in_tree: Tree, fail_message: str = "") -> None:
    """Check that all processes have the same pytree of values; NaN equals NaN.

    Raises: AssertionError in all processes that begins with `fail_message` and names the first leaf that differs.

    >>> from calque_xla_backend import multihost
    >>> multihost.assert_equal({"step": 10})
    """
    caller = f"multihost.assert_equal{where()}"
    leaves, names, tree = _host_leaves(in_tree, caller)
    messages = _exchange("multihost.assert_equal", _types(tree, leaves), leaves)
    prefix = f"{fail_message}: " if fail_message else ""
    try:
        _check_types(caller, names, messages)
    except ValueError as error:
        raise AssertionError(f"{prefix}{error}") from None
    for name, *arrays in zip(names, *(message.arrays for message in messages), strict=True):
        for i, array in enumerate(arrays):
            if not _is_equal(array, arrays[0]):
                values = f"{short_repr(array)} in process {i}, {short_repr(arrays[0])} in process 0"
                raise AssertionError(f"{prefix}{caller}: {name} is {values}. They must be equal.")


def sync_global_devices(name: str) -> None:
    """Wait until all processes have called this function with the same name.

    Raises: AssertionError if the names differ.

    >>> from calque_xla_backend import multihost
    >>> multihost.sync_global_devices("checkpoint written")
    """
    messages = _exchange("multihost.sync_global_devices", name)
    for i, message in enumerate(messages):
        if message.note != messages[0].note:
            raise AssertionError(
                f"multihost.sync_global_devices{where()} got {name!r}, but process {i} has {message.note!r}"
                f"{message.place}, process 0 {messages[0].note!r}{messages[0].place}. Give one name in all processes."
            )


# The parts of an exchange


def _exchange(call: str, note: Any, arrays: Sequence[Array] = ()) -> Sequence[Message]:
    """Return the messages of all processes; without other processes, that of this one."""
    group = current_group()
    return [Message(call, "", note, arrays)] if group is None else exchange(group, call, note, arrays)


def _host_leaves(in_tree: Tree, caller: str) -> tuple[list[Array], list[str], PyTreeDef]:
    """Return the leaves as NumPy arrays, their names, and the structure."""
    leaves, tree = array_leaves(caller, "in_tree", in_tree)
    return [_on_host(x) for x in leaves], leaf_names("in_tree", in_tree), tree


def _on_host(x: Any) -> Array:
    return np.array(x, typeof(x).dtype)


def _types(tree: PyTreeDef, leaves: Sequence[Any]) -> dict[str, Any]:
    return {"tree": str(tree), "types": [typeof(x).str_short() for x in leaves]}


def _check_types(caller: str, names: Sequence[str], messages: Sequence[Message]) -> None:
    """Check that the trees of all processes have one structure and one type for each leaf."""
    first = messages[0].note
    for i, message in enumerate(messages):
        if message.note["tree"] != first["tree"]:
            trees = f"{message.note['tree']} in process {i}, {first['tree']} in process 0"
            raise ValueError(f"{caller}: in_tree has the structure {trees}. Give trees of one structure.")
        for name, kind, first_kind in zip(names, message.note["types"], first["types"]):
            if kind != first_kind:
                kinds = f"{kind} in process {i}, {first_kind} in process 0"
                raise ValueError(f"{caller}: {name} is {kinds}. Give arrays of one shape and dtype.")


def _is_equal(x: Array, y: Array) -> bool:
    return np.array_equal(x, y, equal_nan=x.dtype.kind in "fc") or x.tobytes() == y.tobytes()
