"""The memory behind NumPy arrays: who owns it, and results that share it with nobody.

One idea: all views of one memory end at one owner, so two arrays share memory if their chains of `base` end at one
object.  Operations may return views and their own operands; where results leave a transformation, `unshared` copies the
ones whose memory somebody else can change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from calque_core.memory.captures import Copied, is_writable
from calque_core.types.array_methods import ArrayMethods
from calque_core.types.avals import NUMPY_SCALARS
from calque_pytree import tree_flatten, tree_leaves

T = TypeVar("T")
Value = Any
_SCALARS = frozenset((bool, int, float, complex, *NUMPY_SCALARS))


def owner(x: Any) -> Any:
    """Return the object whose memory an array views, at the end of the chain; NumPy's or another library's.

    >>> x = np.zeros(3)
    >>> owner(x[1:][::-1]) is x
    True
    """
    while isinstance(x, np.ndarray) and x.base is not None:
        x = x.base
    return x


def unshared(results: Sequence[Value], *others: Iterable[Value]) -> list[Value]:
    """Return `results`; NumPy arrays whose writable memory is also another result's, or one of `others`', are copied.

    So are the copies that a trace keeps of captured arrays: a result is the user's to write to.

    >>> x = np.zeros(3)
    >>> y, z, w = unshared([x, x[1:], np.ones(2)], [x])
    >>> owner(y) is x, owner(z) is x, w
    (False, False, array([1., 1.]))
    """
    arrays = [i for i, x in enumerate(results) if isinstance(x, np.ndarray)]
    if not arrays:
        return list(results)
    taken = {id(owner(x)) for some in others for x in some if isinstance(x, np.ndarray)}
    separate = list(results)
    for i in arrays:
        whose = owner(results[i])
        if type(whose) is Copied or (id(whose) in taken and is_writable(results[i])):
            separate[i] = results[i].copy()
        taken.add(id(whose))
    return separate


def owned(results: Sequence[Value]) -> list[Value]:
    """Return `results` with NumPy arrays that can be written to copied: a user's function may have kept any of them.

    >>> x = np.zeros(3)
    >>> owned([x, 1.0])[0] is x
    False
    """
    return [x.copy() if isinstance(x, np.ndarray) and is_writable(x) else x for x in results]


def owned_tree(result: T) -> T:
    """Return a pytree of results with the leaves that `owned` gives.

    >>> x = np.zeros(3)
    >>> owned_tree({"w": x})["w"] is x
    False
    """
    leaves, treedef = tree_flatten(result)
    return treedef.unflatten(owned(leaves))  # type: ignore[no-any-return]


def unshared_tree(result: T, *others: Any) -> T:
    """Return a pytree of results with the leaves that `unshared` gives; `others` are pytrees too.

    >>> x = np.zeros(3)
    >>> unshared_tree({"w": x}, (x,))["w"] is x
    False
    """
    if type(result) in _SCALARS or isinstance(result, ArrayMethods):  # 3 us sooner
        return result
    leaves, treedef = tree_flatten(result)
    separate = unshared(leaves, *[tree_leaves(tree) for tree in others if tree])
    return result if all(a is b for a, b in zip(leaves, separate)) else treedef.unflatten(separate)
