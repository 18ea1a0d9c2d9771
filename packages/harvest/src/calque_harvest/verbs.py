"""The transformation: `harvest`, and its short forms `reap`, `call_and_reap` and `plant`.

Read next: `harvest_trace.py` for how values are found.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from calque_core import api_boundary, current_trace, tracing
from calque_core.extend import check_callable, describe_function
from calque_harvest import programs as _programs  # noqa: F401  the rules of branches and loops
from calque_harvest.harvest_trace import HarvestTrace
from calque_harvest.marks import TAG
from calque_harvest.values import Plant

P = ParamSpec("P")
R = TypeVar("R")


def harvest(f: Callable[..., R], *, tag: str = TAG) -> Callable[..., tuple[R, dict[str, Any]]]:
    """Return a function of `plants` and the arguments of `f`, which gives its result and the values sown in it.

    Both `plants` and the values are dicts by name, for names that `f` sows under `tag`; a planted value replaces the
    one that `f` computes, is a constant for derivatives, and is not among the values.  A name of mode "append" has a
    value with a leading axis, with one row for each time that it comes; a row of a scan is where the results of its
    step are stacked.  A "clobber" name has the last value; in a loop without steps, the value before it or zeros.
    Raises: ValueError for a strict name that comes twice, a name that differs between branches, one that a loop cannot
    keep, or a plant without a name in `f`; TypeError for a plant of another type.

    >>> import numpy as np
    >>> from calque_harvest import harvest, sow
    >>> def f(x):
    ...     y = sow(x + 1.0, name="y")
    ...     return y * y
    >>> harvest(f)({}, 2.0)
    (9.0, {'y': np.float64(3.0)})
    >>> harvest(f)({"y": 10.0}, 2.0)
    (np.float64(100.0), {})
    """
    check_callable(f, "harvest")

    @api_boundary
    @functools.wraps(f)
    def harvested(plants: Mapping[str, Any], *args: Any, **kwargs: Any) -> tuple[R, dict[str, Any]]:
        return _run(f, tag, plants, args, kwargs)

    return harvested


def plant(f: Callable[..., R], *, tag: str = TAG) -> Callable[..., R]:
    """Return a function of `plants` and the arguments of `f`, which gives its result with the planted values.

    Raises: as `harvest`.

    >>> from calque_harvest import plant, sow
    >>> plant(lambda x: sow(x + 1.0, name="y") * 2.0)({"y": 10.0}, 0.0)
    np.float64(20.0)
    """
    check_callable(f, "plant")

    @api_boundary
    @functools.wraps(f)
    def planted(plants: Mapping[str, Any], *args: Any, **kwargs: Any) -> R:
        return _run(f, tag, plants, args, kwargs)[0]

    return planted


def call_and_reap(f: Callable[P, R], *, tag: str = TAG) -> Callable[P, tuple[R, dict[str, Any]]]:
    """Return a function of the arguments of `f`, which gives its result and the values sown in it.

    Raises: as `harvest`.

    >>> from calque_harvest import call_and_reap, sow
    >>> call_and_reap(lambda x: sow(x + 1.0, name="y") * 2.0)(1.0)
    (4.0, {'y': np.float64(2.0)})
    """
    check_callable(f, "call_and_reap")

    @api_boundary
    @functools.wraps(f)
    def called(*args: P.args, **kwargs: P.kwargs) -> tuple[R, dict[str, Any]]:
        return _run(f, tag, {}, args, kwargs)

    return called


def reap(f: Callable[P, Any], *, tag: str = TAG) -> Callable[P, dict[str, Any]]:
    """Return a function of the arguments of `f`, which gives the values sown in it.

    Raises: as `harvest`.

    >>> from calque_harvest import reap, sow
    >>> reap(lambda x: sow(x + 1.0, name="y") * 2.0)(1.0)
    {'y': np.float64(2.0)}
    """
    check_callable(f, "reap")

    @api_boundary
    @functools.wraps(f)
    def reaped(*args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        return _run(f, tag, {}, args, kwargs)[1]

    return reaped


def _run(
    f: Callable[..., R], tag: str, plants: Mapping[str, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[R, dict[str, Any]]:
    if not isinstance(plants, Mapping):
        raise TypeError(
            f"harvest of {describe_function(f)} got plants of type {type(plants).__name__}. Give a dict of values by "
            "name first, and then the arguments of the function; {} plants nothing."
        )
    by_name = {name: Plant(name, value) for name, value in plants.items()}
    trace = HarvestTrace(current_trace(), tag, by_name, frozenset(plants))
    trace.fun = f
    with tracing(trace):
        out = f(*args, **kwargs)
        _check_plants(trace)
        reaps = {name: sown.value() for name, sown in trace.sown.items() if name not in plants}
    return out, reaps


def _check_plants(trace: HarvestTrace) -> None:
    """Check that each plant has replaced a value.  Raises: ValueError that lists the names of the function."""
    for name, planted in trace.plants.items():
        sown = trace.sown.get(name)
        if sown is None:
            names = ", ".join(map(repr, trace.sown)) or "nothing"
            raise ValueError(
                f"{trace.describe()} got a plant for {name!r}, but the function sows {names} under the tag "
                f"{trace.label!r}. Plant one of these."
            )
        if sown.mode == "append":
            planted.check_rows(sum(x.shape[0] for x in (part[0] for part in sown.parts)))
