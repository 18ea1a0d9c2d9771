"""Names of parts: `nest` puts a prefix before the names that a function sows.

One idea: a trace without tracers renames what it sees, in the programs inside an operation too.

Read next: `harvest_trace.py`, the trace that reads the names.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from calque_core import (
    Jaxpr,
    JaxprEqn,
    Primitive,
    Trace,
    api_boundary,
    current_trace,
    evaluation,
    hand_custom_down,
    hand_down,
    map_jaxpr,
    tracing,
)
from calque_core.extend import check_callable
from calque_harvest.marks import MARKS, marks, marks_of
from calque_harvest.rules_inside import Inside

P = ParamSpec("P")
R = TypeVar("R")
Value = Any
Params = dict[str, Any]


def nest(f: Callable[P, R], *, scope: str) -> Callable[P, R]:
    """Return `f` with `scope` and a slash before each name that it sows.

    Raises: TypeError if `scope` is no string.

    >>> from calque_harvest import nest, reap, sow
    >>> def layer(x):
    ...     return sow(x * 2.0, name="out")
    >>> reap(lambda x: nest(layer, scope="second")(nest(layer, scope="first")(x)))(1.0)
    {'first/out': np.float64(2.0), 'second/out': np.float64(4.0)}
    """
    check_callable(f, "nest")
    if type(scope) is not str:
        raise TypeError(f"nest got scope={scope!r}. Give a string.")

    @api_boundary
    @functools.wraps(f)
    def nested(*args: P.args, **kwargs: P.kwargs) -> R:
        parent = current_trace()
        if parent is evaluation:  # nobody reads the names
            return f(*args, **kwargs)
        with tracing(NestTrace(parent, scope)):
            return f(*args, **kwargs)

    return nested


class NestTrace(Trace):
    """Puts a scope before the names that are sown; has no tracers."""

    verb = "nest"

    def __init__(self, parent: Trace, scope: str) -> None:
        super().__init__(parent)
        self.scope = scope

    def process_primitive(self, primitive: Primitive, args: Sequence[Value], params: Params) -> list[Value]:
        assert self.parent is not None
        return hand_down(self.parent, primitive, args, _renamed(primitive, params, self.scope))

    def process_custom_derivative(
        self, primitive: Primitive, fun: Callable[..., Sequence[Value]], args: Sequence[Value], params: Params
    ) -> list[Value]:
        """Hand down a function whose operations and rules sow under the scope."""
        assert self.parent is not None
        run = functools.partial(_inside(self.scope).run, fun)
        return hand_custom_down(
            self.parent, primitive, run, args, {"rules": _nested_rules(params["rules"], self.scope)}
        )


def _renamed(primitive: Primitive, params: Params, scope: str) -> Params:
    """Return the parameters of an operation, with the names in them and in their programs."""
    if primitive in MARKS:
        return params | {"name": f"{scope}/{params['name']}"}
    if not params or not marks_of(primitive, params):
        return params
    renamed = {name: _in_value(value, scope) for name, value in params.items()}
    if "rules" in params:
        renamed["rules"] = _nested_rules(params["rules"], scope)
    return renamed


def _in_value(value: Any, scope: str) -> Any:
    if isinstance(value, Jaxpr):
        return nested_jaxpr(value, scope)
    if isinstance(value, tuple) and any(isinstance(x, Jaxpr) for x in value):
        return tuple([_in_value(x, scope) for x in value])
    return value


def nested_jaxpr(jaxpr: Jaxpr, scope: str) -> Jaxpr:
    """Return a program with `scope` before its names; made once."""
    if not marks(jaxpr):
        return jaxpr
    return jaxpr.memo(("nest", scope), lambda: map_jaxpr(lambda eqn: _renamed_eqn(eqn, scope), jaxpr))  # type: ignore[no-any-return]


def _renamed_eqn(eqn: JaxprEqn, scope: str) -> JaxprEqn:
    """Rename in one equation, whose programs are renamed already."""
    params = eqn.params
    if eqn.primitive in MARKS:
        return eqn.replace(params=_renamed(eqn.primitive, params, scope))
    if "rules" in params and marks_of(eqn.primitive, params):
        return eqn.replace(params=params | {"rules": _nested_rules(params["rules"], scope)})
    return eqn


def _nested_rules(rules: Any, scope: str) -> Any:
    """Return derivative rules that sow under the scope; a rule for batches stays as it is."""
    return rules.through(_inside(scope), ("nest", scope)) if rules.batch is None else rules


def _inside(scope: str) -> Inside:
    return Inside(lambda parent: NestTrace(parent, scope))
