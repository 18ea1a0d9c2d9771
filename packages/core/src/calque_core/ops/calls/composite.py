"""Programs that a compiler may know by a name: the primitive `composite`, bound by `composite`.

One idea: the equation means its program, the decomposition, everywhere but in a compiled module, which holds the name
and the attributes beside the decomposition.  A derivative or a batch is that of the decomposition, without the name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calque_core.calls.api_util import check_callable
from calque_core.context import here
from calque_core.frames.names import named_after
from calque_core.frames.source import where
from calque_core.frames.tracebacks import api_boundary
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.memory.separate import copy_shared, copy_writable_tree
from calque_core.ops.calls.cond import stage_branches
from calque_core.ops.calls.jit import check_operands, means, run_program
from calque_core.ops.calls.staged_programs import operand_leaves
from calque_core.ops.shapes.axes import integer
from calque_core.primitives.primitive import Primitive

Value = Any
Attributes = tuple[tuple[str, bool | int | float | str], ...]

composite_p = Primitive("composite", multiple_results=True)
means(composite_p, "jaxpr", run_program)


@composite_p.def_abstract_eval
def composite_abstract_eval(*avals: Any, jaxpr: Jaxpr, name: str, attributes: Attributes, version: int) -> list[Any]:
    check_operands(f"the composite {name}", jaxpr, avals)
    return jaxpr.out_avals


@composite_p.def_rule("decomposition")
def composite_decomposition(*args: Value, jaxpr: Jaxpr, **_: Any) -> list[Value]:
    return run_program(jaxpr, args)


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """Return a function that computes `decomposition(*args, **kwargs)`, and that a compiler may know by its name.

    In a compiled module it is one operation with `name`, `version`, and the keyword arguments as attributes, beside the
    decomposition; a keyword argument None is no attribute.  Derivatives and batches are those of the decomposition.
    Positional arguments are pytrees of arrays, keyword arguments bools, numbers or strings.
    Raises: TypeError if `decomposition` is no function, or an argument is something else.

    >>> from calque_core import make_jaxpr
    >>> from calque_core.lax import composite, cos, div, sin
    >>> tangent = composite(lambda x: div(sin(x), cos(x)), "my.tangent")
    >>> tangent(0.0)
    np.float64(0.0)
    >>> make_jaxpr(tangent)(0.0).eqns[0].primitive
    composite
    """
    check_callable(decomposition, "composite")
    if not isinstance(name, str):
        raise TypeError(f"composite{where()}: the name is {name!r}. Give a string.")
    version = integer("composite", "version", version)

    @api_boundary
    @named_after(decomposition)
    def composed(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = operand_leaves(f"composite {name}", decomposition, args)
        attributes = _attributes(name, kwargs)
        fun: Callable[..., Any] = lambda *xs: decomposition(*xs, **kwargs)
        if here().settings.disable_jit:
            args, _ = in_tree.unflatten(leaves)
            return copy_writable_tree(fun(*args))
        pure, out_tree = stage_branches(f"composite {name}", [fun], leaves, in_tree)
        params = {"jaxpr": pure.programs[0], "name": name, "attributes": attributes, "version": version}
        operands = [*pure.arrays, *leaves]
        return out_tree.unflatten(copy_shared(pure.results(composite_p.bind(*operands, **params)), operands))

    return composed


def _attributes(name: str, kwargs: dict[str, Any]) -> Attributes:
    for key, value in kwargs.items():
        if value is not None and not isinstance(value, (bool, int, float, str)):
            raise TypeError(
                f"composite {name}{where()} got {key}={value!r}, which is no attribute. Give a bool, a number or a "
                "string, or pass an array by position."
            )
    return tuple((key, value) for key, value in kwargs.items() if value is not None)
