"""The memory of NumPy arrays: its owner, and results that share it with no other array.

One idea: all views of one memory end at one owner, so two arrays share memory if their chains of `base` end at one
object.  Operations may return views and their own operands; where results leave a transformation, `copy_shared` copies
a result if another array can change its memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from calque_core.memory.captures import BETWEEN, Copied, behind, held_arrays, is_held, is_writable, view_chain
from calque_core.types.array_methods import ArrayMethods
from calque_core.types.avals import NUMPY_SCALARS, own_types, typeof
from calque_pytree import tree_flatten, tree_leaves

T = TypeVar("T")
Value = Any
_SCALARS = frozenset((bool, int, float, complex, *NUMPY_SCALARS))


def owner(x: Any) -> Any:
    """Return the object whose memory an array views, the last in the chain: an array, or another library's object.

    >>> x = np.zeros(3)
    >>> owner(x[1:][::-1]) is x
    True
    """
    while isinstance(x, np.ndarray) and x.base is not None:
        x = x.base
    return owner(behind(x)) if type(x) in BETWEEN else x


def copy_shared(results: Sequence[Value], *reserved: Iterable[Value]) -> list[Value]:
    """Return `results`; an array that shares writable memory with an earlier result or with `reserved` is copied.

    A copy that a trace keeps of a captured array is copied too: the user may write to results.  A read-only result is
    a view of its own, since its user may set its shape in place.

    >>> import numpy as np
    >>> from calque_core.engine import copy_shared
    >>> x = np.zeros(3)
    >>> y, z, w = copy_shared([x, x[1:], np.ones(2)], [x])
    >>> np.shares_memory(x, y), np.shares_memory(x, z), w
    (False, False, array([1., 1.]))
    """
    if own_types and any(map(_is_own, (*results, *(x for values in reserved for x in values)))):
        return _copy_shared_own(results, reserved)
    separate, owner_ids = list(results), None
    for i, x in enumerate(results):
        if isinstance(x, np.ndarray):
            if owner_ids is None:
                owner_ids = _owner_ids(reserved)
            memory_owner = x if x.base is None else owner(x)
            if type(memory_owner) is Copied or (id(memory_owner) in owner_ids and is_writable(x)):
                separate[i] = x.copy()
            elif not x.flags.writeable:
                separate[i] = x.view()
            owner_ids.add(id(memory_owner))
    return separate


def _copy_shared_own(results: Sequence[Value], reserved: Sequence[Iterable[Value]]) -> list[Value]:
    """Return as `copy_shared`, where a value of an own type counts as its arrays."""
    arrays = copy_shared(
        [a for x in results for a in _arrays(x)], *[[a for x in r for a in _arrays(x)] for r in reserved]
    )
    remaining = iter(arrays)
    return [_with_arrays(x, [next(remaining) for _ in _arrays(x)]) for x in results]


def _is_own(x: Value) -> bool:
    """Tell whether `x` is a value of an own type, and no tracer."""
    return type(x) in own_types and not isinstance(x, ArrayMethods)


def _arrays(x: Value) -> list[Value]:
    return [getattr(x, name) for name in typeof(x).arrays()] if _is_own(x) else [x]


def _with_arrays(x: Value, arrays: Sequence[Value]) -> Value:
    """Return a value with other arrays; `x` itself, if its arrays are the same."""
    if not _is_own(x):
        return arrays[0]
    aval = typeof(x)
    if all(a is b for a, b in zip(_arrays(x), arrays)):
        return x
    return aval.make(**dict(zip(aval.arrays(), arrays)))


def _owner_ids(reserved: Iterable[Iterable[Value]]) -> set[int]:
    owner_ids = set()
    for values in reserved:
        for x in values:
            if isinstance(x, np.ndarray):
                owner_ids.add(id(x if x.base is None else owner(x)))
    return owner_ids


def copy_writable(results: Sequence[Value]) -> list[Value]:
    """Return `results` with a copy of each writable NumPy array, a view of each other: a user's function may keep it.

    >>> import numpy as np
    >>> from calque_core.engine import copy_writable
    >>> x = np.zeros(3)
    >>> copy_writable([x, 1.0])[0] is x
    False
    """
    if own_types and any(map(_is_own, results)):
        return [_with_arrays(x, copy_writable(_arrays(x))) if _is_own(x) else copy_writable([x])[0] for x in results]
    return [(x.copy() if is_writable(x) else x.view()) if isinstance(x, np.ndarray) else x for x in results]


def copied_where_exposed(values: list[Value], shared: Iterable[Value]) -> list[Value]:
    """Return `values` with a copy of each array that the user can write to: captured, or in the memory of `shared`.

    If there is none, the same list is returned.

    >>> import numpy as np
    >>> from calque_core.engine import copied_where_exposed
    >>> x, y = np.zeros(3), np.zeros(3)
    >>> a, b = copied_where_exposed([x[1:], y], [x])
    >>> np.shares_memory(a, x), b is y
    (False, True)
    """
    arrays = [(i, x) for i, x in enumerate(values) if isinstance(x, np.ndarray) and not isinstance(x.base, Copied)]
    if not arrays:  # nearly always: captured arrays are copies, and numbers are no arrays
        return values
    owner_ids = {id(x if x.base is None else owner(x)) for x in shared if isinstance(x, np.ndarray)}
    exposed = [
        i
        for i, x in arrays
        if not (x.base is None and id(x) not in owner_ids and id(x) not in held_arrays)  # 0.3 us sooner
        and _is_exposed(x, owner_ids)
    ]
    if not exposed:
        return values
    safe = list(values)
    for i in exposed:
        safe[i] = values[i].copy()
    return safe


def _is_exposed(x: np.ndarray[Any, Any], owner_ids: set[int]) -> bool:
    return is_writable(x) and (id(owner(x)) in owner_ids or any(map(is_held, view_chain(x))))


def copy_writable_tree(result: T) -> T:
    """Return a pytree of results, with `copy_writable` applied to its leaves.

    >>> x = np.zeros(3)
    >>> copy_writable_tree({"w": x})["w"] is x
    False
    """
    leaves, treedef = tree_flatten(result)
    return treedef.unflatten(copy_writable(leaves))  # type: ignore[no-any-return]


def copy_shared_tree(result: T, *reserved: Any) -> T:
    """Return a pytree of results, with `copy_shared` applied to its leaves; `reserved` are pytrees too.

    >>> import numpy as np
    >>> from calque_core.memory.separate import copy_shared_tree
    >>> x = np.zeros(3)
    >>> copy_shared_tree({"w": x}, (x,))["w"] is x
    False
    """
    if type(result) in _SCALARS or isinstance(result, ArrayMethods):  # saves 3 us
        return result
    leaves, treedef = tree_flatten(result)
    separate = copy_shared(leaves, *[tree_leaves(tree) for tree in reserved if tree])
    return result if all(a is b for a, b in zip(leaves, separate)) else treedef.unflatten(separate)
