"""Programs of operations on elements, and of products: made for arrays of one shape, they serve arrays of all sizes.

One idea: the code of such a program has no size in it, since ufuncs broadcast and products take the sizes of their
operands.  So it is made once, and not once per shape: data of other lengths at each call, such as sentences or batches,
find it all the same.

Read next: `table.py`, which keeps one entry for all sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.known.buffers import calls_of, unchanged
from calque_core.primitives.primitive import Primitive
from calque_core.types.array_methods import kinds_in_every_size
from calque_core.types.avals import Shape, ShapedArray


def sizes_that_do_not_matter(operation: Any, avals: Sequence[Any]) -> tuple[Shape, ...] | None:
    """Return the shapes of operands if the operations of a primitive or a function do not depend on their sizes.

    Numbers in the operations may depend on them.  None says that sizes matter.
    """
    if operation not in kinds_in_every_size and not (isinstance(operation, Primitive) and operation.is_elementwise):
        return None
    for aval in avals:
        if aval.vma:
            return None
    return tuple([aval.shape for aval in avals])


def without_sizes(aval: Any) -> tuple[Any, ...]:
    """Return the key of a type without its sizes: the sizes 0 and 1 alone stay apart from larger ones.

    An axis of size 1 may be repeated.  Large arrays stay apart from small ones, whose code is another one.
    """
    return (ShapedArray, aval.dtype, aval.weak_type, is_large(aval), *[n if n < 2 else 2 for n in aval.shape])  # noqa: FURB136  (a call each)


def common_shape(avals: Sequence[Any]) -> Shape | None:
    """Return the shape of all arrays among types, if there is one alone.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.known.sizes import common_shape
    >>> x, y = typeof(np.zeros((2, 3))), typeof(np.zeros((1, 3)))
    >>> common_shape([typeof(1.0), x, x]), common_shape([x, y]), common_shape([typeof(1.0)])
    ((2, 3), None, None)
    """
    common: Shape = ()
    for aval in avals:
        if aval.vma or (aval.shape and common and aval.shape != common):
            return None
        common = aval.shape or common
    return common or None


def is_large(aval: Any) -> bool:
    """Tell whether a new array of this type takes longer than to remember who refers to an old one.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.engine import is_large
    >>> is_large(typeof(np.zeros(1024))), is_large(typeof(np.zeros(1023)))
    (True, False)
    """
    return bool(aval.size * aval.dtype.itemsize >= _LARGE)


_LARGE = 8 << 10  # bytes


def acts_by_element(program: Jaxpr, shape: Shape) -> bool:
    """Tell whether each equation acts on each element of arrays of this shape alone, so that blocks may run apart.

    >>> import numpy as np
    >>> from calque_core import make_jaxpr
    >>> from calque_core.known.sizes import acts_by_element
    >>> x = np.ones(3)
    >>> [acts_by_element(make_jaxpr(f)(x), (3,)) for f in (lambda x: 2.0 * x, lambda x: x @ x)]
    [True, False]
    """
    for eqn in program.eqns:
        avals = [x.aval for x in (*eqn.invars, *eqn.outvars)]
        if not all(type(aval) is ShapedArray and aval.shape in {(), shape} for aval in avals):
            return False
        if not eqn.primitive.is_elementwise:
            return False
    return not program.consts


def has_no_sizes(program: Jaxpr) -> bool:
    """Tell whether the code of a program is the same one for arrays of all sizes.

    Its operations act on each element alone, or are primitives in `kinds_in_every_size`; ufuncs broadcast.

    >>> import numpy as np
    >>> from calque_core import make_jaxpr
    >>> from calque_core.engine import has_no_sizes
    >>> x = np.ones((2, 3))
    >>> has_no_sizes(make_jaxpr(lambda x: x * x[0])(x)), has_no_sizes(make_jaxpr(lambda x, y: x * y)(x, x[0]))
    (False, True)
    """
    atoms = [x for eqn in program.eqns for x in (*eqn.invars, *eqn.outvars)]
    if program.consts or not all(type(x.aval) is ShapedArray for x in atoms):
        return False
    for call in calls_of(program).calls:
        primitive = call.eqn.primitive
        if not (call.function is unchanged or primitive.is_elementwise or primitive in kinds_in_every_size):
            return False
    return True
