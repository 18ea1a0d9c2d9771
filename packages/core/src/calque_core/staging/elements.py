"""Programs that act on each element alone: made for arrays of one shape, they serve arrays of every shape.

One idea: where all arrays of a program have one shape, and each equation is an operation on elements, nothing in the
program depends on the sizes but its types.  So a plan that is made from it is made once, and not once per shape: data
of other lengths at each call, such as sentences or batches, find the plan all the same.

Read next: `plans.py`, which keeps one plan for all shapes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from calque_core.jaxprs.jaxpr import Atom, Jaxpr, Literal, Var
from calque_core.primitives.primitive import Primitive
from calque_core.types.array_methods import elementwise_functions, linear_in_every_size
from calque_core.types.avals import Shape, ShapedArray, shaped_array


def sizes_that_do_not_matter(operation: Any, avals: Sequence[Any]) -> Shape | tuple[Shape, ...] | None:
    """Return the sizes on which the operations of a primitive or a function do not depend, but for numbers in them.

    That is the one shape of all operands if it acts on each element alone, and the shapes of all operands if it is in
    `linear_in_every_size`; None if sizes matter.
    """
    if operation in linear_in_every_size:
        return None if any(aval.vma for aval in avals) else tuple([aval.shape for aval in avals])
    is_primitive = isinstance(operation, Primitive)
    acts_alone = operation.is_elementwise if is_primitive else operation in elementwise_functions
    return common_shape(avals) if acts_alone else None


def common_shape(avals: Sequence[Any]) -> Shape | None:
    """Return the shape of all arrays among types, if there is one alone.

    >>> import numpy as np
    >>> from calque_core import typeof
    >>> from calque_core.extend import common_shape
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
    >>> from calque_core.extend import is_large
    >>> is_large(typeof(np.zeros(1024))), is_large(typeof(np.zeros(1023)))
    (True, False)
    """
    return bool(aval.size * aval.dtype.itemsize >= _LARGE)


_LARGE = 8 << 10  # bytes


def acts_by_element(program: Jaxpr, shape: Shape, sums: Collection[Primitive] = ()) -> bool:
    """Tell whether each equation acts on each element of arrays of this shape alone, or is a sum of all elements.

    >>> import numpy as np
    >>> from calque_core import lax, make_jaxpr
    >>> from calque_core.extend import acts_by_element
    >>> x = np.ones(3)
    >>> program = make_jaxpr(lambda x: lax.reduce_sum(2.0 * x))(x)
    >>> acts_by_element(program, (3,)), acts_by_element(program, (3,), [lax.reduce_sum_p])
    (False, True)
    """
    for eqn in program.eqns:
        avals = [x.aval for x in (*eqn.invars, *eqn.outvars)]
        if not all(type(aval) is ShapedArray and aval.shape in {(), shape} for aval in avals):
            return False
        is_sum = eqn.primitive in sums and not eqn.outvars[0].aval.shape
        if not (eqn.primitive.is_elementwise or is_sum):
            return False
    return not program.consts


def aval_in_shape(aval: Any, old: Shape, new: Shape) -> Any:
    """Return the type of an array of the shape `new` for one of the shape `old`, and any other type unchanged."""
    return shaped_array(new, aval.dtype, aval.weak_type) if aval.shape == old else aval


def in_shape(program: Jaxpr, old: Shape, new: Shape) -> Jaxpr:
    """Return a program that acts by element on arrays of the shape `old`, for arrays of the shape `new`.

    >>> import numpy as np
    >>> from calque_core import lax, make_jaxpr
    >>> from calque_core.extend import in_shape
    >>> in_shape(make_jaxpr(lax.sin)(np.ones(3)), (3,), (2, 4))
    { lambda ; a:f64[2,4]. let b:f64[2,4] = sin a in (b,) }
    """
    atoms: dict[Atom, Any] = {}

    def renamed(xs: Sequence[Atom]) -> list[Any]:
        return [x if type(x) is Literal else atoms.setdefault(x, Var(aval_in_shape(x.aval, old, new))) for x in xs]

    invars = renamed(program.invars)
    eqns = [eqn.replace(invars=renamed(eqn.invars), outvars=renamed(eqn.outvars)) for eqn in program.eqns]
    return program.replace(invars=invars, eqns=eqns, outvars=renamed(program.outvars))
