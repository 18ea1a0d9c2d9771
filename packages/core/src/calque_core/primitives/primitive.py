"""Primitives: the operations that traces see.

One idea: a primitive is a name with rules, and `bind` hands it to the current trace.

Read next: `rules.py` for the tables, `trace.py` for the traces that process a bound primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_args, overload

import numpy as np

from calque_core.context import DEFAULT_SETTINGS, active, entered, here
from calque_core.epoch import advance_rule_epoch
from calque_core.hooks import varying_operands
from calque_core.memory.uncopied import Uncopied
from calque_core.primitives import rules as tables
from calque_core.primitives.families import AdaptedRules, declaring_module, import_family, import_rules_to_change
from calque_core.record import Record
from calque_core.traces.evaluators import plain_types
from calque_core.traces.trace import Trace, evaluation, hand_down, run_under
from calque_core.types.avals import NO_AXES, ShapedArray, typeof

F = TypeVar("F", bound=Callable[..., Any])
_ndarray = np.ndarray
Linearity = Literal["linear", "bilinear", "constant"]
ImplForTypes = Callable[..., Callable[..., Any] | None]


class Adder(Record):
    """The arguments of `Primitive.def_adder`."""

    zero: int
    for_types: ImplForTypes


class Primitive(Uncopied):
    """An operation that transformations know by name, and process by its rules.

    >>> import numpy as np
    >>> from calque_core import Primitive
    >>> double_p = Primitive("double")
    >>> @double_p.def_impl
    ... def double_impl(x):
    ...     return np.add(x, x)
    >>> double_p.bind(2.0)
    np.float64(4.0)

    A primitive with `multiple_results` returns lists of results, from `bind` and from its rules.  Each of its equations
    has the `effects`; an equation with an effect is neither dropped, nor merged, nor repeated.

    `linearity` declares how the results depend on the floating operands: "linear" in all of them together, "bilinear",
    that is linear in each of two, or "constant", with a zero derivative.  Taylor series, `jet`, need no other rule;
    `jvp` and `grad` do: `calque_autodiff.deflinear`, `defbilinear` and `zero_derivative` give their rules and declare
    it.  The attribute `is_elementwise` declares that it
    acts on each element alone, of operands of equal shapes or rank 0.  The `family` is the name of the module that
    declares it; the modules with its rules have the same path in their packages.
    """

    __slots__ = (
        "__weakref__",
        "_rules",
        "abstract",
        "_holes",
        "adapted",
        "adder",
        "effects",
        "family",
        "impl",
        "_impl_for_types",
        "is_elementwise",
        "is_leaf",
        "makes_arrays",
        "linearity",
        "multiple_results",
        "name",
        "takes_weak",
        "weak_kinds",
    )
    _in_words, _instead = "a primitive", "Import the module that declares it instead."

    def __init__(
        self,
        name: str,
        multiple_results: bool = False,
        *,
        effects: frozenset[Any] = frozenset(),
        linearity: Linearity | None = None,
    ) -> None:
        self.name = name
        self.linearity = linearity
        self.weak_kinds = ""  # dtype kinds: if all operands are weak and of these, so is the result, as in Python
        self.takes_weak = False  # evaluates programs, where a Python scalar stays one under every setting
        self.is_elementwise = False  # acts on each element alone; operands have equal shapes or rank 0
        self.multiple_results = multiple_results
        self.effects = effects
        self.is_leaf = False
        self.makes_arrays = False
        self.adder: Adder | None = None
        self.impl: Callable[..., Any] = self._missing_impl
        self._impl_for_types: ImplForTypes | None = None
        self.abstract: Any = None  # the type rule: types to a list of types
        self.family = declaring_module()  # the modules with its rules have this path
        self.adapted = AdaptedRules(self.family)
        self._holes: dict[Any, str] = {}
        self._rules: dict[Any, tables.Rule] = {}
        tables.primitives.add(self)

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive under the current trace.

        Returns the result, or the list of results of a primitive with `multiple_results`.
        """
        if active:
            context = here()
            if context.varying_axes:
                args, params = varying_operands()(self, args, params)
            outs: Any = context.trace.process_primitive(self, args, params)
            return outs if self.multiple_results else outs[0]
        # No trace is open and the settings are the default: this is `evaluation.process_primitive`, 0.2 us faster.
        for x in args:
            kind = type(x)
            if kind not in plain_types or (kind is _ndarray and not x.dtype.isnative):
                outs = evaluation.process_primitive(self, args, params)
                return outs if self.multiple_results else outs[0]
        return self.impl(*args, **params)

    def bind_with_trace(self, trace: Trace, args: Any, params: dict[str, Any]) -> list[Any]:
        """Apply the primitive under `trace`; return the list of results."""
        return hand_down(trace, self, args, params)

    def def_impl(
        self, function: F, *, leaf: bool = False, for_types: ImplForTypes | None = None, makes_arrays: bool = False
    ) -> F:
        """Define the NumPy evaluation; return `function`, so that this works as a decorator.

        `leaf=True` promises that `function` binds no primitive, and that the rules of the primitive depend on the types
        of operands and on parameters alone: evaluation then switches no traces, and transformations run the rules for
        the first operations of the same types and parameters only.
        `for_types(*avals, **params)` may return a function of operands that gives the same results sooner, as it knows
        their types, or None; straight-line code calls it.  An operand without axes may be a Python scalar.
        `makes_arrays=True` promises that a result with axes is a new array, never an operand or a view of one, so that
        straight-line code may write to it once it is dead.  A ufunc of NumPy's needs no such promise.
        """
        tables.store(self, "impl", function)
        self.is_leaf, self._impl_for_types, self.makes_arrays = leaf, for_types, makes_arrays
        return function

    def impl_for_types(self, avals: Iterable[Any], params: Mapping[str, Any]) -> Callable[..., Any]:
        """Return the NumPy evaluation as a function of operands, which have these types.

        >>> import numpy as np
        >>> from calque_core import typeof
        >>> from calque_core.lax import reshape_p
        >>> x = np.arange(4)
        >>> reshape_p.impl_for_types([typeof(x)], {"new_sizes": (2, 2)})(x)
        array([[0, 1],
               [2, 3]])
        """
        function = None if self._impl_for_types is None else self._impl_for_types(*avals, **params)
        if function is None:
            function = partial(self.impl, **params) if params else self.impl
        return function

    def def_adder(self, zero: int, for_types: ImplForTypes) -> None:
        """Define how evaluation adds the result to an array in place, where the operand at position `zero` is zero.

        `for_types(*avals, **params)` returns a function of the array and of the other operands, or None.
        The cotangents of slices of one array are added so: each would otherwise be an array of its size.

        >>> import numpy as np
        >>> from calque_core import Primitive
        >>> reversed_sum_p = Primitive("reversed_sum")  # of two arrays: x, and y from its end
        >>> reversed_sum_p.def_adder(0, lambda x_aval, y_aval: lambda total, y: np.add(total, y[::-1], total))
        >>> reversed_sum_p.adder.zero
        0
        """
        self.adder = Adder(zero, for_types)

    @overload
    def def_abstract_eval(self, function: None = None, *, cached: bool = False) -> Callable[[F], F]: ...

    @overload
    def def_abstract_eval(self, function: F, *, cached: bool = False) -> F: ...

    def def_abstract_eval(self, function: Any = None, *, cached: bool = False) -> Any:
        """Define the type rule, from avals to aval (a list of avals with `multiple_results`); return `function`.

        `cached=True` promises hashable parameters, and a result that depends on avals and parameters alone.  The rule
        then runs once per types, under the default settings, which saves 0.5 us per traced operation.  Without
        `function`, return a decorator.
        """
        if function is None:
            return lambda fn: self.def_abstract_eval(fn, cached=cached)
        tables.store(self, "abstract_eval", function)
        if cached:
            # No settings in the key: the operands are converted before `bind`, and the rule runs under the defaults.
            rule = _under_default_settings(self.adapted["abstract_eval"])
            self.abstract = partial(self._remember, self._with_varying_axes(rule))
        return function

    def _remember(self, rule: Callable[..., Any], *avals: Any, **params: Any) -> Any:
        """Give the type rule its cache at its first call: importing core defines 70 rules, at 10 us a cache."""
        self.abstract = lru_cache(maxsize=4096)(rule)
        return self.abstract(*avals, **params)

    @overload
    def def_rule(
        self, kind: str, function: None = None, *, platform: str | None = None, override: bool = False
    ) -> Callable[[F], F]: ...

    @overload
    def def_rule(self, kind: str, function: F, *, platform: str | None = None, override: bool = False) -> F: ...

    def def_rule(self, kind: str, function: Any = None, *, platform: str | None = None, override: bool = False) -> Any:
        """Define the rule of one kind, such as "jvp" or "batch"; without `function`, return a decorator.

        The kind decides the signature: `docs/your_own_primitive.md` has all of ours, and a transformation of your own
        reads kinds of its own.  `platform` is for "lowering": the rule of a platform precedes the rule for all.
        Raises: ValueError, naming both places, if there is a rule already and `override` is not set.
        """
        if function is None:
            return lambda fn: self.def_rule(kind, fn, platform=platform, override=override)
        tables.store(self, kind if platform is None else (kind, platform), function, override=override)
        return function

    def def_linearity(self, linearity: Linearity) -> None:
        """Declare the primitive "linear", "bilinear" or "constant"; any transformation may derive a rule from it.

        Raises: ValueError if it is declared otherwise already.

        >>> from calque_core import Primitive
        >>> mirror_p = Primitive("mirror")
        >>> mirror_p.def_linearity("linear")
        >>> mirror_p.linearity
        'linear'
        """
        kinds = get_args(Linearity)
        if linearity not in kinds:
            raise ValueError(f"the linearity of '{self.name}' is {linearity!r}. Use one of {kinds}.")
        if self.linearity not in (None, linearity):
            raise ValueError(
                f"'{self.name}' is already declared {self.linearity}, so it cannot be declared {linearity}. Keep one "
                "declaration; to replace the first, set the attribute `linearity` to None before."
            )
        if self.linearity is None and not self._rules.keys().isdisjoint(("jvp", "decomposition")):
            advance_rule_epoch()  # cached programs may come from these rules
        self.linearity = linearity

    def def_pp(self, function: F) -> F:
        """Define which parameters are printed: `function(params) -> params`; return `function`."""
        tables.store(self, "pp", function)
        return function

    def def_hole(self, kind: str, reason: str) -> None:
        """Declare the reason why no rule of this kind exists: 'it is not linear'.  The error quotes it."""
        import_rules_to_change(self.family, kind, declaring_module())
        if kind in self._rules:
            raise ValueError(
                f"'{self.name}' has a rule of the kind {kind!r}, so no hole can be declared for it. Remove the rule "
                "or the declaration."
            )
        self._holes[kind] = reason

    def refresh(self, kind: Any) -> None:
        """Update the attribute `impl` or `abstract`, which dispatch reads, after its rule has changed."""
        if kind == "impl":
            self.impl = self.adapted[kind] or self._missing_impl
            self.is_leaf, self._impl_for_types, self.makes_arrays, self.adder = False, None, False, None
        elif kind == "abstract_eval":
            rule = self.adapted[kind]
            self.abstract = None if rule is None else self._with_varying_axes(rule)

    def _with_varying_axes(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Return a type rule for types with varying axes, from a rule for types without.

        By default a result varies along the axes of all operands; a rule of kind "vma" says otherwise.
        """

        def abstract(*avals: Any, **params: Any) -> Any:
            vmas = tuple([aval.vma for aval in avals])
            if not here().varying_axes and not any(vmas):
                return rule(*avals, **params)
            vma_rule = self.adapted["vma"]
            outs = rule(*[aval.varying(NO_AXES) if aval.vma else aval for aval in avals], **params)
            out_vmas = [NO_AXES.union(*vmas)] * len(outs) if vma_rule is None else vma_rule(vmas, **params)
            return [out.varying(vma) if type(out) is ShapedArray else out for out, vma in zip(outs, out_vmas)]

        return abstract

    @property
    def holes(self) -> dict[Any, str]:
        """The reasons why there is no rule, by kind."""
        import_family(self.family)
        return self._holes

    @property
    def rules(self) -> Mapping[Any, Callable[..., Any]]:
        """The authors' rules, by kind."""
        import_family(self.family)
        return MappingProxyType({kind: rule.function for kind, rule in self._rules.items()})

    def _missing_impl(self, *args: Any, **params: Any) -> Any:
        if self.adapted["decomposition"] is None:
            raise tables.missing_rule(self, "impl")
        outs = self._rules["decomposition"].function(*args, **params)
        return list(outs) if self.multiple_results else outs

    def __repr__(self) -> str:
        return self.name


def results_of(primitive: Primitive, operands: Iterable[Any], params: Mapping[str, Any]) -> list[Any]:
    """Bind a primitive and return the list of its results; of length 1 unless `multiple_results`.

    >>> from calque_core.engine import results_of
    >>> from calque_core.lax import neg_p
    >>> results_of(neg_p, [1.0], {})
    [-1.0]
    """
    out = primitive.bind(*operands, **params)
    return list(out) if primitive.multiple_results else [out]


def bind_checked(primitive: Primitive, *args: Any, **params: Any) -> Any:
    """Run the type rule, then bind: for primitives whose evaluation accepts operands that the type rule refuses.

    >>> from calque_core.extend import bind_checked
    >>> from calque_core.lax import neg_p
    >>> bind_checked(neg_p, 2.0)
    -2.0
    """
    primitive.abstract(*map(typeof, args), **params)
    return primitive.bind(*args, **params)


def _under_default_settings(rule: Callable[..., Any]) -> Callable[..., Any]:
    def under_default_settings(*avals: Any, **params: Any) -> Any:
        if here().settings is DEFAULT_SETTINGS:  # 3 us sooner
            return rule(*avals, **params)
        with entered(settings=DEFAULT_SETTINGS):
            return rule(*avals, **params)

    return under_default_settings


def decompose(trace: Trace, primitive: Primitive, args: Any, params: dict[str, Any], kind: str) -> list[Any]:
    """Return the list of results of a primitive by its decomposition, whose operations go to `trace`.

    A trace calls this for a primitive without a rule of the kind `kind`.
    Raises: MissingRuleError, which names `kind`, if there is no decomposition either.

    >>> from calque_core import Primitive, decompose, evaluation, lax
    >>> twice_p = Primitive("twice")
    >>> _ = twice_p.def_rule("decomposition", lambda x: lax.add(x, x))
    >>> decompose(evaluation, twice_p, [1.5], {}, "jvp")
    [np.float64(3.0)]
    """
    decomposition = primitive.adapted["decomposition"]
    if decomposition is None:
        raise tables.missing_rule(primitive, kind)
    return list(run_under(trace, decomposition, *args, **params))
