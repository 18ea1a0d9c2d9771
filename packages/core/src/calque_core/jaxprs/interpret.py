"""Running a jaxpr: `bind` for one equation after the other, under the current trace.

One idea: a jaxpr is only ever interpreted, so a transformation of jaxprs is an interpretation under the trace of the
transformation.  A bound primitive keeps the equation's place in the user's program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from calque_core.calls.api_util import describe_value
from calque_core.context import here, open_scopes, own_context
from calque_core.frames.scopes import within_scopes
from calque_core.frames.source import add_place, where
from calque_core.frames.tracebacks import hide_frames, mark_boundary
from calque_core.jaxprs.arguments import check_is_jaxpr
from calque_core.jaxprs.jaxpr import Jaxpr, Literal
from calque_core.memory.separate import copy_shared
from calque_core.traces.trace import evaluation

Value = Any


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Value], *args: Value) -> list[Value]:
    """Return the results of `jaxpr` on `args`, by binding its equations in order.

    NumPy results share no writable memory with each other, the constants or the arguments.
    Raises: TypeError for a function in place of a jaxpr, and if the number of constants or arguments does not fit.

    >>> from calque_core import eval_jaxpr, lax, make_jaxpr
    >>> jaxpr = make_jaxpr(lambda x: lax.sin(x) + 1.0)(0.0)
    >>> eval_jaxpr(jaxpr, jaxpr.consts, 0.0)
    [np.float64(1.0)]
    """
    try:
        if type(jaxpr) is not Jaxpr or type(consts) not in _SEQUENCES:
            _check_program(jaxpr, consts)
        outs = run_jaxpr(jaxpr, consts, *args)
        return copy_shared(outs, consts, args) if here().trace is evaluation else outs
    except Exception as error:
        hide_frames(error)
        raise


mark_boundary(eval_jaxpr.__code__)  # the wrapper that `api_boundary` makes takes 0.2 us
_SEQUENCES = frozenset((tuple, list))


def _check_program(jaxpr: Any, consts: Any) -> None:
    """Check that the first two arguments are a jaxpr and a sequence.  Raises: TypeError."""
    call = "eval_jaxpr(jaxpr, jaxpr.consts, *args)"
    check_is_jaxpr(call, jaxpr)
    if not isinstance(consts, Sequence):
        raise TypeError(f"eval_jaxpr got {describe_value(consts)} as its constants{where()}. Write {call}.")


def run_jaxpr(jaxpr: Jaxpr, consts: Sequence[Value], *args: Value) -> list[Value]:
    """Return the results of `jaxpr`, which may be views of the arguments: for programs inside of programs.

    Raises: TypeError if the number of constants or arguments does not fit.
    """
    if len(args) != len(jaxpr.invars) or len(consts) != len(jaxpr.constvars):
        raise TypeError(
            f"eval_jaxpr got {len(consts)} constants and {len(args)} arguments, but the jaxpr has "
            f"{len(jaxpr.constvars)} constants and {len(jaxpr.invars)} inputs. Pass jaxpr.consts, then one argument "
            "for each input."
        )
    env: dict[Any, Value] = dict(zip(jaxpr.constvars, consts))
    env.update(zip(jaxpr.invars, args))
    context = own_context()
    before, scopes = context.source, open_scopes(context)
    try:
        for eqn, drops in zip(jaxpr.eqns, jaxpr.last_uses):
            context.source = within_scopes(eqn.position, scopes) if scopes else eqn.position
            outs = eqn.primitive.bind(*[x.val if type(x) is Literal else env[x] for x in eqn.invars], **eqn.params)
            if eqn.primitive.multiple_results:
                env.update(zip(eqn.outvars, outs))
            else:
                env[eqn.outvars[0]] = outs
            for var in drops:
                del env[var]
    except Exception as error:
        add_place(error, eqn.primitive.name, context.source)
        raise
    finally:
        context.source = before
    return [x.val if type(x) is Literal else env[x] for x in jaxpr.outvars]


@final
class JaxprFunction:
    """A Python function that takes the arguments of `jaxpr` and returns its results; it can be traced again.

    All its arguments are operands: its operations depend on their types alone.
    """

    __slots__ = ("__name__", "__weakref__", "jaxpr")

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr, self.__name__ = jaxpr, jaxpr.debug_name or "jaxpr"

    def __call__(self, *args: Value) -> list[Value]:
        try:
            return eval_jaxpr(self.jaxpr, self.jaxpr.consts, *args)
        except Exception as error:
            hide_frames(error)
            raise


mark_boundary(JaxprFunction.__call__.__code__)


def jaxpr_as_fun(jaxpr: Jaxpr) -> JaxprFunction:
    """Return a Python function that takes the arguments of `jaxpr` and returns its results; it can be traced again.

    Raises: TypeError if `jaxpr` is none.

    >>> from calque_core import jaxpr_as_fun, lax, make_jaxpr
    >>> jaxpr_as_fun(make_jaxpr(lambda x: lax.sin(x) + 1.0)(0.0))(0.0)
    [np.float64(1.0)]
    """
    check_is_jaxpr("jaxpr_as_fun(jaxpr)", jaxpr)
    return JaxprFunction(jaxpr)
