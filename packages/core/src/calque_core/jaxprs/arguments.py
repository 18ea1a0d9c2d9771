"""Checks of the arguments of functions that take a jaxpr: a function, or arguments in another order, are refused.

Read next: `interpret.py`, which runs a jaxpr.
"""

from __future__ import annotations

from typing import Any

from calque_core.calls.api_util import describe_value
from calque_core.frames.source import describe_function, where
from calque_core.jaxprs.jaxpr import Jaxpr


def check_is_jaxpr(call: str, x: Any) -> None:
    """Check that `x` is a jaxpr; `call` is the right call, as `eval_jaxpr(jaxpr, jaxpr.consts, *args)`.

    Raises: TypeError, which says what to write.

    >>> from calque_core import make_jaxpr
    >>> check_is_jaxpr("check_jaxpr(jaxpr)", make_jaxpr(abs)(1.0))
    """
    if type(x) is Jaxpr:
        return
    name = call.partition("(")[0]
    if callable(x):
        raise TypeError(
            f"{name} got the function {describe_function(x)} as its jaxpr{where()}. Trace it first: "
            "jaxpr = make_jaxpr(f)(*args)."
        )
    raise TypeError(
        f"{name} got {describe_value(x)} as its jaxpr{where()}. Write {call}, with a jaxpr that make_jaxpr(f)(*args) "
        "returns."
    )
