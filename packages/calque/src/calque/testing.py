"""`check_primitive`: checks your primitive against every law that this project checks its own primitives against.

One idea: a law takes a function and its arguments.  So the primitive is checked first, and then each of its
transformations, and this checks every pair of transformations in both orders.  Derivatives are compared with
differences and with each other, a batch with a loop, a compiled program with evaluation; no law trusts a rule.

`check_trace`, the kit for a transformation, is core's.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from calque_autodiff import check_jvp, jvp, linearize, vjp
from calque_batching import vmap
from calque_core import Primitive, finfo, float0, typeof
from calque_core.extend import is_float
from calque_core.testing import Finding, Report, application, check_staging, check_trace, compare, examine

__all__ = ["Finding", "Report", "check_primitive", "check_trace"]

Value = Any
Params = dict[str, Any]
Function = Callable[..., list[Value]]

ROUNDING = 1000.0  # units of roundoff by which two computations of one value may differ: by NumPy or XLA, in any order


class Case(NamedTuple):
    """A function from a list of arrays to a list of arrays, and arguments for it."""

    fun: Function
    args: Sequence[Value]

    @property
    def floating(self) -> list[int]:
        """The positions of the arguments that can have a tangent."""
        return [i for i, x in enumerate(self.args) if is_floating(x)]

    def restricted(self, chosen: Sequence[int]) -> Case:
        """Return the case as a function of some arguments alone, with the floating results alone."""

        def fun(*xs: Value) -> list[Value]:
            args = list(self.args)
            for i, x in zip(chosen, xs):
                args[i] = x
            return [y for y in self.fun(*args) if is_floating(y)]

        fun.__name__ = self.fun.__name__
        return Case(fun, [self.args[i] for i in chosen])


def is_floating(x: Value) -> bool:
    """Tell whether an array has a derivative."""
    return is_float(typeof(x).dtype)


def check_primitive(primitive: Primitive, args: Sequence[Value], params: Params | None = None) -> Report:
    """Check all rules of a primitive at the operands `args`; return a report of all laws.

    The laws, after the laws of `calque_core.testing.check_primitive`: its jvp agrees with central differences
    ("forward"), its linearization with its jvp, and its transpose with both ("adjoint"); a batch, along any axis of any
    operand and of any size, equals the result of a loop ("batch"); the compiled program equals evaluation ("compile",
    if the backend is installed); and the same holds for its transformations ("forward of vmap").
    A missing rule is reported, with the reason if it is a declared hole.  Choose operands where the primitive is
    smooth: distinct, and within its domain by a twelfth of their size, since the rows of a batch are near them.
    Raises: AssertionError that lists the laws that fail, with the values that break them.

    >>> import numpy as np
    >>> from calque.testing import check_primitive
    >>> from calque_core.lax import sin_p
    >>> report = check_primitive(sin_p, (np.array([0.1, 0.2]),))
    >>> report.outcome("adjoint")
    'holds'
    """
    report = examine(primitive, args, params)
    case = Case(application(primitive, params), [np.asarray(x) for x in args])
    for law, check in _laws():
        report.ask(law, partial(check, case))
    if report.outcome("evaluate") == "holds":
        for name, transform in _transformations():
            _ask_again(report, name, transform, case)
    report.raise_failures()
    return report


def _ask_again(report: Report, name: str, transform: Callable[[Case], Case], case: Case) -> None:
    """Check a transformation of the primitive against the laws, unless the primitive has failed under it."""
    of_primitive = {"jvp": "forward", "vjp": "adjoint", "vmap": "batch", "jit": "compile"}[name]
    is_vacuous = not case.args if name == "vmap" else name in ("jvp", "vjp") and not _is_differentiable(case)
    if is_vacuous or report.outcome(of_primitive) != "holds":
        return
    transformed = transform(case)
    report.ask(f"stage of {name}", partial(check_staging, transformed.fun, transformed.args, ROUNDING))
    for law, check in _laws():
        if report.outcome(law) == "holds":
            report.ask(f"{law} of {name}", partial(_ROUGH.get(law, check), transformed))


def _is_differentiable(case: Case) -> bool:
    return bool(case.floating) and any(map(is_floating, case.fun(*case.args)))


# The laws


def _laws() -> Iterator[tuple[str, Callable[[Case], None]]]:
    yield "forward", check_forward
    yield "adjoint", check_adjoint
    yield "batch", check_batch
    if _jit() is not None:
        yield "compile", check_compiled


def _jit() -> Callable[..., Any] | None:
    """Return the backend's `jit`; None where the backend is not installed."""
    if importlib.util.find_spec("calque_xla_backend") is None or importlib.util.find_spec("jaxlib") is None:
        return None
    jit: Callable[..., Any] = importlib.import_module("calque_xla_backend").jit
    return jit


def _subsets(case: Case) -> list[Case]:
    """Return the case as a function of all its floating arguments, and of each alone; integers have no tangent."""
    chosen = case.floating
    if not _is_differentiable(case):
        return []
    return [case.restricted(chosen), *(case.restricted([i]) for i in chosen if len(chosen) > 1)]


def check_forward(case: Case) -> None:
    """Check the jvp against central differences; where no result has a derivative, tangents must be `float0`."""
    if case.floating and not _is_differentiable(case):
        t = [directions([x], 1)[0] if is_floating(x) else np.zeros(x.shape, float0) for x in case.args]
        outs, out_dots = jvp(case.fun, tuple(case.args), tuple(t))
        compare(
            "the derivative of a result without derivatives",
            out_dots,
            [np.zeros(typeof(y).shape, float0) for y in outs],
        )
    for subset in _subsets(case):
        check_jvp(subset.fun, partial(jvp, subset.fun), subset.args)


def check_adjoint(case: Case) -> None:
    """Check <u, J t> == <J^T u, t>, and that the linear function gives J t."""
    for subset in _subsets(case):
        t = directions(subset.args, 1)
        outs, out_dots = jvp(subset.fun, tuple(subset.args), tuple(t))
        outs_again, f_lin = linearize(subset.fun, *subset.args)
        compare("the value under linearize", outs_again, outs, ROUNDING)
        compare("linearize", f_lin(*t), out_dots, ROUNDING)
        u = directions(outs, 2)
        bars = vjp(subset.fun, *subset.args)[1](u)
        compare("the types of vjp: it", [np.zeros_like(x) for x in bars], [np.zeros_like(x) for x in t])
        forward, backward = inner(u, out_dots), inner(bars, t)
        size = float(sum(np.abs(np.asarray(a) * np.asarray(b)).sum() for a, b in zip(u, out_dots)))
        if not abs(forward - backward) <= ROUNDING * roundoff([*outs, *t]) * (1 + size):
            raise AssertionError(
                f"<u, J t> = {forward} but <J^T u, t> = {backward}, for t = {_text(t)} and u = {_text(u)}: the "
                "transpose rule, or a jvp rule that is not linear in its tangent, is wrong."
            )


def check_batch(case: Case) -> None:
    """Check vmap along each axis of each argument, and along the first axes of all, for batches of 0, 1 and 3."""
    for i, x in enumerate(case.args):
        for axis in range(x.ndim + 1):
            check_rows(case, [axis if i == j else None for j in range(len(case.args))], 3)
    check_first_axes(case)
    for size in (0, 1):
        check_rows(case, [0] * len(case.args), size)


def check_first_axes(case: Case) -> None:
    """Check vmap along the first axis of all arguments together."""
    check_rows(case, [0] * len(case.args), 3)


_ROUGH = {"batch": check_first_axes}  # a transformation is checked along fewer axes: each check is a loop over elements


def check_rows(case: Case, in_axes: Sequence[int | None], size: int) -> None:
    """Compare vmap with a loop over its elements."""
    if not case.args:
        return
    rows = [[x if axis is None else near(x, k) for x, axis in zip(case.args, in_axes)] for k in range(size)]
    xs = [
        x if axis is None else np.stack([near(x, k) for k in range(max(size, 1))], axis).take(range(size), axis)
        for x, axis in zip(case.args, in_axes)
    ]
    outs = vmap(case.fun, in_axes=tuple(in_axes))(*xs)
    if size:
        expected = [np.stack([np.asarray(y) for y in column]) for column in zip(*(case.fun(*row) for row in rows))]
    else:
        expected = [np.empty((0, *typeof(y).shape), typeof(y).dtype) for y in case.fun(*case.args)]
    compare(f"vmap with in_axes={tuple(in_axes)} of {size}", outs, expected, ROUNDING)


def check_compiled(case: Case) -> None:
    """Compare the compiled program with evaluation."""
    jit = _jit()
    assert jit is not None
    compare("the compiled program", jit(case.fun)(*case.args), case.fun(*case.args), ROUNDING)


# The transformations, as functions from a case to a case


def _transformations() -> Iterator[tuple[str, Callable[[Case], Case]]]:
    yield "jvp", _jvp_case
    yield "vjp", _vjp_case
    yield "vmap", _vmap_case
    if _jit() is not None:
        yield "jit", _jit_case


def _named_case(name: str, case: Case, fun: Function, args: Sequence[Value] | None = None) -> Case:
    fun.__name__ = f"{name} of {case.fun.__name__}"  # for messages
    return Case(fun, case.args if args is None else args)


def _jvp_case(case: Case) -> Case:
    subset = case.restricted(case.floating)
    t = tuple(directions(subset.args, 1))
    return _named_case("jvp", case, lambda *xs: [y for ys in jvp(subset.fun, xs, t) for y in ys], subset.args)


def _vjp_case(case: Case) -> Case:
    subset = case.restricted(case.floating)
    u = directions(subset.fun(*subset.args), 2)
    return _named_case("vjp", case, lambda *xs: list(vjp(subset.fun, *xs)[1](u)), subset.args)


def _vmap_case(case: Case) -> Case:
    args = [np.stack([near(x, k) for k in range(2)]) for x in case.args]
    return _named_case("vmap", case, vmap(case.fun), args)


def _jit_case(case: Case) -> Case:
    jit = _jit()
    assert jit is not None
    return _named_case("jit", case, jit(case.fun))


# Numbers


def directions(xs: Sequence[Value], seed: int) -> list[Value]:
    """Return random tangents of the types of `xs`."""
    rng = np.random.default_rng(seed)
    return [_random(rng, typeof(x)) for x in xs]


def _random(rng: np.random.Generator, aval: Any) -> Value:
    real = rng.uniform(-1, 1, aval.shape)
    values = real + 1j * rng.uniform(-1, 1, aval.shape) if aval.kind == "c" else real
    return np.asarray(values).astype(aval.dtype)[()]


def near(x: Value, k: int) -> Value:
    """Return row number `k` of a batch: floats a little smaller from row to row, integers and bools moved on by `k`."""
    if is_floating(x):
        return (x * (1 - k / 25)).astype(x.dtype)
    return np.roll(x, k)


def inner(u: Sequence[Value], t: Sequence[Value]) -> float:
    """Return the real inner product of two lists of arrays, without conjugation, as in transposition."""
    return float(sum(np.sum(np.asarray(a) * np.asarray(b)).real for a, b in zip(u, t)))


def roundoff(xs: Sequence[Value]) -> float:
    """Return the unit of roundoff of the narrowest floating array."""
    dtypes = [typeof(x).dtype for x in xs if is_floating(x)]
    return max((float(finfo(d).eps) for d in dtypes), default=2.0**-52)


def _text(xs: Sequence[Value]) -> str:
    return ", ".join(np.array2string(np.asarray(x), precision=3, threshold=6) for x in xs)
