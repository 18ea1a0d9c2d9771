"""Distributions, each a namespace of functions of a point or a probability, the parameters, `loc` and `scale`.

One idea: a distribution gives formulas for loc 0 and scale 1 inside of its support.  One rule makes the public
functions: it moves and scales the point, chooses the values outside of the support, gives NaN where a parameter is
outside of its range, and derives the missing formulas where the derived ones have all digits.

Read next: `lines.py`, `intervals.py`, `half_lines.py`, `counts.py`, the distributions.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from calque_core import lax
from calque_numpy.scipy.floats import of_floats

Value = Any
Formula = Callable[..., Value]
Formulas = dict[str, Formula]

# The values below and above the support
_OUTSIDE = {
    "logpdf": (-math.inf, -math.inf), "logpmf": (-math.inf, -math.inf), "cdf": (0.0, 1.0), "sf": (1.0, 0.0),
    "logcdf": (-math.inf, 0.0), "logsf": (0.0, -math.inf),
}  # fmt: skip
_SENTENCES = {
    "logpdf": "the logarithm of the density at x",
    "pdf": "the density at x",
    "logpmf": "the logarithm of the probability of k",
    "pmf": "the probability of k",
    "cdf": "the probability of values up to the first argument",
    "sf": "the probability of values above x",
    "logcdf": "the logarithm of the probability of values up to x",
    "logsf": "the logarithm of the probability of values above x",
    "ppf": "the value up to which the probability is q",
    "isf": "the value above which the probability is q",
    "entropy": "the entropy in nats",
}


class Distribution:
    """A family of distributions, as SciPy's: its functions broadcast their operands and keep the dtype of floats.

    The first argument is a point or a probability, then come the parameters, `loc`, and `scale` if values are real
    numbers.  Integers become float64.  A function is NaN where a parameter is outside of its range, and where a
    probability is.  `dir` lists the functions.
    Raises: TypeError for complex numbers and unknown arguments; ShapeError if the shapes do not broadcast;
    AttributeError for a function that the distribution lacks.

    >>> import numpy as np
    >>> from calque_numpy.scipy.stats import norm
    >>> np.round(norm.logcdf(np.array([-40.0, 1.0]), loc=1.0), 3)
    array([-8.45133e+02, -6.93000e-01])
    """

    def __init__(self, name: str, functions: Mapping[str, Callable[..., Value]]) -> None:
        self.__name__ = name
        vars(self).update(functions)

    def __getattr__(self, name: str) -> Any:
        functions = ", ".join(dir(self))
        raise AttributeError(f"{self.__name__} has no function {name!r}. Its functions are {functions}.", name=name)

    def __dir__(self) -> list[str]:
        return sorted(name for name in vars(self) if name != "__name__")

    def __repr__(self) -> str:
        return f"<distribution {self.__name__}>"


@dataclass(frozen=True)
class Family:
    """The parameters of a family: their names, the numbers they may be, the support, and a point inside of it.

    The ends of the support are numbers, or functions of the parameters.
    """

    parameters: tuple[str, ...] = ()
    is_valid: Formula | None = None
    low: float | Formula = -math.inf
    high: float | Formula = math.inf
    inner: float | Formula = 0.0
    is_discrete: bool = False

    def chosen(self, parameters: tuple[Value, ...], scale: Value, out: Value) -> Value:
        """Return `out`; NaN where the parameters are not valid."""
        if self.is_valid is not None:
            out = lax.select(self.is_valid(*parameters), out, math.nan)
        return out if self.is_discrete else lax.select(scale > 0.0, out, math.nan)


def continuous(name: str, family: Family, **formulas: Formula) -> Distribution:
    """Return the distribution with these formulas of a point or a probability and the parameters."""
    return _distribution(name, family, {**_completed(formulas), "pdf": _exp_of(formulas["logpdf"])})


def discrete(name: str, family: Family, **formulas: Formula) -> Distribution:
    """Return the distribution of whole numbers with these formulas of a number and the parameters."""
    return _distribution(name, family, {**formulas, "pmf": _exp_of(formulas["logpmf"])})


# Derived formulas


def _exp_of(formula: Formula) -> Formula:
    return lambda *args: lax.exp(formula(*args))


def _log_of(formula: Formula, other: Formula) -> Formula:
    """Return the logarithm of a probability; of one above 1/2 by `other`, the probability of the complement."""

    def logarithm(*args: Value) -> Value:
        probability = formula(*args)
        is_low = probability < 0.5
        low = lax.log(lax.select(is_low, probability, 0.5))
        return lax.select(is_low, low, lax.log1p(-lax.select(is_low, 0.5, other(*args))))

    return logarithm


def _completed(formulas: Formulas) -> Formulas:
    """Return the formulas, with probabilities from their logarithms, or logarithms from probabilities."""
    out = dict(formulas)
    for name in ("cdf", "sf"):
        if f"log{name}" in out:
            out.setdefault(name, _exp_of(out[f"log{name}"]))
    if "cdf" in out and "sf" in out:
        out.setdefault("logcdf", _log_of(out["cdf"], out["sf"]))
        out.setdefault("logsf", _log_of(out["sf"], out["cdf"]))
    return out


_MIRROR = {"cdf": "sf", "sf": "cdf", "logcdf": "logsf", "logsf": "logcdf", "logpdf": "logpdf"}


def _mirrored(formulas: Formulas) -> Formulas:
    """Return the formulas of the mirror image at 0: its probability above y is the probability below -y."""
    of_points = {_MIRROR[name]: _at_opposite(formula) for name, formula in formulas.items() if name in _MIRROR}
    quantiles = {"ppf": "isf", "isf": "ppf"}
    return of_points | {there: _negative_of(formulas[here]) for here, there in quantiles.items() if here in formulas}


def _at_opposite(formula: Formula) -> Formula:
    return lambda y, *parameters: formula(-y, *parameters)


def _negative_of(formula: Formula) -> Formula:
    return lambda q, *parameters: -formula(q, *parameters)


def mirror_image(name: str, family: Family, **formulas: Formula) -> Distribution:
    """Return the distribution of -X for the X with these formulas, whose support has no ends."""
    return continuous(name, family, **_mirrored(formulas))


def symmetric(name: str, family: Family, **formulas: Formula) -> Distribution:
    """Return the distribution of an X that -X has, too, from the formulas of one side."""
    return continuous(name, family, **{**_mirrored(formulas), **formulas})


# Public functions


def _distribution(name: str, family: Family, formulas: Formulas) -> Distribution:
    functions = {}
    for kind, formula in formulas.items():
        make = _of_probability if kind in ("ppf", "isf") else _of_parameters if kind == "entropy" else _of_point
        base = {"pdf": "logpdf", "pmf": "logpmf"}.get(kind)
        function = make(base or kind, family, formulas[base] if base else formula)
        functions[kind] = _public(f"{name}.{kind}", kind, family, _exp_of(function) if base else function)
    return Distribution(name, functions)


def _of_point(kind: str, family: Family, formula: Formula) -> Formula:
    below, above = _OUTSIDE[kind]

    def function(x: Value, *args: Value) -> Value:
        *parameters, loc, scale = args if not family.is_discrete else (*args, 1.0)
        y = x - loc if family.is_discrete else (x - loc) / scale
        y, chosen = _inside(family, y, parameters, below, above)
        out = formula(y, *parameters)
        if kind == "logpdf":
            out = out - lax.log(scale)
        return family.chosen(tuple(parameters), scale, chosen(out))

    return function


def _at(end: float | Formula, parameters: list[Value]) -> Value:
    return end(*parameters) if callable(end) else end


def _inside(
    family: Family, y: Value, parameters: list[Value], below: float, above: float
) -> tuple[Value, Callable[[Value], Value]]:
    """Return y with an inner point for elements outside of the support, and the choice of the values there."""
    masks = []
    if family.is_discrete and below == above:  # probabilities of single numbers
        masks.append((lax.ne(lax.floor(y), y) & lax.eq(y, y), below))
    if family.low != -math.inf:
        masks.append((y < _at(family.low, parameters), below))
    if family.high != math.inf:
        masks.append((y > _at(family.high, parameters), above))
    for mask, _ in masks:
        y = lax.select(mask, _at(family.inner, parameters), y)

    def chosen(out: Value) -> Value:
        for mask, value in masks:
            out = lax.select(mask, value, out)
        return out

    return y, chosen


def _of_probability(kind: str, family: Family, formula: Formula) -> Formula:
    def function(q: Value, *args: Value) -> Value:
        *parameters, loc, scale = args if not family.is_discrete else (*args, 1.0)
        is_probability = (q >= 0.0) & (q <= 1.0)
        y = formula(lax.select(is_probability, q, 0.5), *parameters)
        out = y + loc if family.is_discrete else y * scale + loc
        return family.chosen(tuple(parameters), scale, lax.select(is_probability, out, math.nan))

    return function


def _of_parameters(kind: str, family: Family, formula: Formula) -> Formula:
    return lambda *args: family.chosen(
        args[:-1], None, formula(*args[:-1])
    )  # the entropy of whole numbers has no scale


def _public(name: str, kind: str, family: Family, function: Formula) -> Callable[..., Value]:
    """Return the function with the names and defaults of SciPy's arguments."""
    first = {"ppf": ["q"], "isf": ["q"], "entropy": []}.get(kind, ["k" if family.is_discrete else "x"])
    names = [*first, *family.parameters, "loc", *([] if family.is_discrete else ["scale"])]
    defaults = {"loc": 0, "scale": 1}
    kinds = inspect.Parameter
    signature = inspect.Signature(
        [kinds(each, kinds.POSITIONAL_OR_KEYWORD, default=defaults.get(each, kinds.empty)) for each in names]
    )
    last = tuple(defaults[each] for each in names if each in defaults)

    def call(*args: Value, **named: Value) -> Value:
        missing = len(names) - len(args)
        if named or not 0 <= missing <= len(last):
            args = _bound(name, signature, args, named)
        elif missing:
            args = args + last[-missing:]
        return known(*args)

    function.__name__ = call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Return {_SENTENCES[kind]}.\n\nSee `Distribution` for shapes, dtypes and errors."
    call.__signature__ = signature  # type: ignore[attr-defined]
    known = of_floats(function)
    return call


def _bound(name: str, signature: inspect.Signature, args: tuple[Value, ...], named: dict[str, Value]) -> Any:
    try:
        bound = signature.bind(*args, **named)
    except TypeError as error:
        raise TypeError(f"{name}: {error}. Give {', '.join(signature.parameters)}.") from None
    bound.apply_defaults()
    return bound.args
