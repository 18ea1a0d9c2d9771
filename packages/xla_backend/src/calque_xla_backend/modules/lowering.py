"""From equations to StableHLO operations: lowering rules, and the interpreter that calls them.

One idea: lowering interprets a jaxpr with IR values for its variables.  Each equation calls the lowering rule of its
primitive, which emits operations at the current insertion point.

Read next: `module.py`, which makes functions and modules; `types.py` for types and constants; `rules/`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar, overload

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import Atom, ConcretizationTypeError, Jaxpr, JaxprEqn, Literal, Primitive, Var, rules, stage
from calque_core.engine import HostCall, at_place, has_tracer, own_context, resolve
from calque_core.extend import missing_rule, shaped_array
from calque_pytree import static_key
from calque_xla_backend.modules.locations import Locations, OnePlace
from calque_xla_backend.modules.recording import Templates
from calque_xla_backend.modules.results import check_results
from calque_xla_backend.modules.template_keys import template_key
from calque_xla_backend.modules.templates import Block, Template
from calque_xla_backend.modules.types import IrValue, aval_to_ir_type, ir_constant

Rule = Callable[..., Sequence[IrValue]]
F = TypeVar("F", bound=Callable[..., Any])
Params = dict[str, Any]
FuncOp = Any  # the stubs lack the methods that jaxlib adds to its generated classes
Constants = dict[tuple[int, Any], Any]  # by identity and type: the array or its IR value


class Step(NamedTuple):
    """A step of a loop around the insertion point; `place` is that of the loop, for messages."""

    verb: str
    place: str
    number: IrValue


@dataclass(slots=True)
class ModuleContext:
    """The state that all rules of one module share."""

    module: ir.Module
    platform: str
    symbols: ir.SymbolTable
    types: dict[Any, ir.Type]  # by aval: the cache of the MLIR context
    templates: Templates
    rules: dict[Any, Rule] = field(default_factory=dict)
    functions: dict[int, tuple[Jaxpr, FuncOp]] = field(default_factory=dict)  # by id of the jaxpr
    constants: dict[int, Constants] = field(default_factory=dict)  # by id of the jaxpr: its large constants
    traced: dict[Any, Jaxpr] = field(default_factory=dict)  # the traces of `lower_fun`
    locations: Locations | OnePlace = field(default_factory=Locations)  # of the program that is being lowered
    callbacks: list[HostCall] = field(default_factory=list)  # the Python functions that the program calls
    token: IrValue | None = None  # what the next ordered effect must wait for, at the current insertion point
    steps: tuple[Step, ...] = ()  # of the loops around the insertion point, the outermost first
    devices: tuple[Any, ...] = ()  # of the program, in the order of their numbers; () before a mesh gives them
    is_divided: bool = False  # whether XLA divides the arrays of the program over several devices
    meshes: dict[Any, str] = field(default_factory=dict)  # the symbols of the meshes
    manual: Any = None  # the mesh of the shard_map around the insertion point, and its axes
    caches: dict[Any, Any] = field(default_factory=dict)  # by `manual`: templates, functions and traces


class LoweringRuleContext:
    """The context of a lowering rule: the equation, with its types, and the module."""

    __slots__ = ("_module_context", "asks_for_module", "constants", "eqn")

    def __init__(self, module_context: ModuleContext, constants: Constants, eqn: JaxprEqn) -> None:
        self._module_context, self.constants, self.eqn = module_context, constants, eqn
        self.asks_for_module = False

    @property
    def module_context(self) -> ModuleContext:
        """The state of the module.  A rule that asks for it runs once for each module."""
        self.asks_for_module = True
        return self._module_context

    @property
    def primitive(self) -> Any:
        """The primitive of the equation."""
        return self.eqn.primitive

    @property
    def avals_in(self) -> list[Any]:
        """The types of the operands."""
        return [x.aval for x in self.eqn.invars]

    @property
    def avals_out(self) -> list[Any]:
        """The types of the results."""
        return [v.aval for v in self.eqn.outvars]

    @property
    def platform(self) -> str:
        """The platform of the module, such as 'cpu' or 'cuda'."""
        return self._module_context.platform

    @property
    def is_divided(self) -> bool:
        """Whether XLA may divide the operands over devices, beside the axes that a `shard_map` divides."""
        manual = self._module_context.manual  # its templates are its own, so that a rule need not ask for the module
        return self._module_context.is_divided and (manual is None or bool(manual.remaining))

    def replace(
        self, *, avals_in: Sequence[Any] | None = None, avals_out: Sequence[Any] | None = None
    ) -> LoweringRuleContext:
        """Return the context with other types, for a rule that calls another rule."""
        eqn = self.eqn
        if avals_in is not None:
            eqn = eqn.replace(invars=[Var(aval) for aval in avals_in])
        if avals_out is not None:
            eqn = eqn.replace(outvars=[Var(aval) for aval in avals_out])
        return LoweringRuleContext(self.module_context, self.constants, eqn)

    def lower(
        self, fun: Callable[..., Any], *values: IrValue, avals_in: Sequence[Any] | None = None, **params: Any
    ) -> Sequence[IrValue]:
        """Return the results of a function of arrays on IR values, one or a list, lowered at the insertion point.

        `avals_in` are the types of the values, by default those of the equation's operands.  A function of a module
        is traced once in a program for values of the same types and the same `params`.
        """
        ctx = self if avals_in is None else self.replace(avals_in=avals_in)
        return _lower_traced(ctx, fun, partial(_list_of, fun), values, params)


def _list_of(fun: Callable[..., Any], params: Params, *args: Any) -> Sequence[Any]:
    outs = fun(*args, **params)
    return outs if isinstance(outs, (list, tuple)) else [outs]


# Rules


@overload
def register_lowering(primitive: Primitive, rule: F, *, platform: str | None = ...) -> F: ...


@overload
def register_lowering(primitive: Primitive, rule: None = None, *, platform: str | None = ...) -> Callable[[F], F]: ...


def register_lowering(primitive: Primitive, rule: Any = None, *, platform: str | None = None) -> Any:
    """Give a primitive its lowering rule, for one platform or for all; without `rule`, return a decorator.

    `rule(ctx, *values, **params)` returns a sequence of IR values, one for each result.  It may depend on types, on
    parameters and on operands that are literals: for equal equations it runs once, and its operations are copied, also
    into other programs, unless it asks for `ctx.module_context`.  With effects, or with parameters that are no plain
    values, it runs each time.  An older rule is replaced.

    >>> from calque_core import Primitive
    >>> from calque_xla_backend import hlo, register_lowering
    >>> twice_p = Primitive("twice")
    >>> @register_lowering(twice_p)
    ... def twice_lowering(ctx, x):
    ...     return [hlo.add(x, x)]
    """
    if rule is None:
        return lambda function: register_lowering(primitive, function, platform=platform)
    rules("lowering", platform=platform)[primitive] = rule
    return rule


def lowering_rule(primitive: Any, platform: str) -> Rule:
    """Return the rule for a platform, the rule for all platforms, or the lowering of the primitive's program.

    A primitive without a rule means one of its programs, or has a decomposition.

    Raises: MissingRuleError.
    """
    adapted = primitive.adapted
    rule = adapted["lowering", platform] or adapted["lowering"]
    if rule is None and adapted["means"] is not None:
        program_of = adapted["means"]
        return lambda ctx, *values, **params: lower_equations(ctx, OnePlace(), program_of(**params), *values)
    if rule is None:
        if adapted["decomposition"] is None:
            raise missing_rule(primitive, "lowering", platform=platform)
        rule = lower_fun(adapted["decomposition"])
    return rule  # type: ignore[no-any-return]


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Rule:
    """Return the lowering rule that lowers the operations of `fun`.

    `fun(*operands, **params)` is traced for the operands' types; it returns a sequence of results, or a single result
    with `multiple_results=False`.

    >>> from calque_core import lax
    >>> from calque_xla_backend import lower_fun
    >>> rule = lower_fun(lambda x: lax.mul(x, x), multiple_results=False)
    """

    def list_results(params: Params, *args: Any) -> Sequence[Any]:
        return fun(*args, **params) if multiple_results else [fun(*args, **params)]

    def rule(ctx: LoweringRuleContext, *values: IrValue, **params: Any) -> Sequence[IrValue]:
        return _lower_traced(ctx, fun, list_results, values, params)

    return rule


def _lower_traced(
    ctx: LoweringRuleContext, fun: Any, list_results: Callable[..., Any], values: Sequence[IrValue], params: Params
) -> Sequence[IrValue]:
    """Lower the operations of `fun`, whose results `list_results` returns as a list."""
    make = lambda: stage(partial(list_results, params), ctx.avals_in, verb="lowering", user_fun=fun)
    param_keys = tuple((name, static_key(value)) for name, value in params.items())
    jaxpr = _memoise(ctx.module_context.traced, (fun, tuple(ctx.avals_in), param_keys), make)
    return lower_equations(ctx, OnePlace(), jaxpr, *values)


def _memoise(memo: dict[Any, Jaxpr], key: Any, make: Callable[[], Jaxpr]) -> Jaxpr:
    """Return `make()`, computed once per key, or each time for a key without a hash."""
    try:
        jaxpr = memo.get(key)
    except TypeError:
        key = len(memo)  # the memo also keeps jaxprs alive, whose ids are keys of the module context
        jaxpr = None
    if jaxpr is None:
        jaxpr = memo[key] = make()
    return jaxpr


def broadcast_operands(ctx: LoweringRuleContext, *values: IrValue) -> Sequence[IrValue]:
    """Return the operands of an elementwise operation; operands of rank 0 are broadcast to the shape of the result."""
    shape = ctx.eqn.outvars[0].aval.shape
    for x in ctx.eqn.invars:
        if x.aval.shape != shape:
            return [
                v if x.aval.shape == shape else _broadcast(v, x.aval, shape) for v, x in zip(values, ctx.eqn.invars)
            ]
    return values


def _broadcast(value: IrValue, aval: Any, shape: tuple[int, ...]) -> IrValue:
    return hlo.broadcast_in_dim(aval_to_ir_type(shaped_array(shape, aval.dtype)), value, [])


# Equations


def jaxpr_subcomp(ctx: LoweringRuleContext, jaxpr: Jaxpr, *args: IrValue) -> list[IrValue]:
    """Lower the equations of `jaxpr` on `args` at the current insertion point; return its results.

    For rules of equations that hold programs: an operation's name begins with the name of the equation.
    """
    return lower_equations(ctx, ctx.module_context.locations.inside(ctx.eqn), jaxpr, *args)


def lower_equations(
    ctx: LoweringRuleContext, locations: Locations | OnePlace, jaxpr: Jaxpr, *args: IrValue
) -> list[IrValue]:
    """Lower the equations of `jaxpr` on `args`, which have the locations `locations`; return its results."""
    module_context, constants = ctx.module_context, ctx.constants
    env: dict[Any, IrValue] = dict(zip(jaxpr.invars, args))
    for var, const in zip(jaxpr.constvars, jaxpr.consts):
        key = id(const), var.aval
        env[var] = constants[key] if key in constants else ir_constant(const, var.aval.dtype)
    templates, block = module_context.templates, Block()
    find: Any = env.get
    by_key, create, point = templates.by_key, ir.Operation.create, block.point
    context = own_context()
    before, around = context.source, module_context.locations
    eqn = None
    try:
        module_context.locations = locations
        for eqn, location in zip(jaxpr.eqns, locations.of(jaxpr.eqns)):  # 2 us per equation beside the builder's time
            values = [*map(find, eqn.invars)]  # None for a literal
            key = template_key(eqn)
            template = by_key.get(key, _UNKNOWN)
            if not template:
                context.source = eqn.position  # errors, and equations that a rule traces, point at the user's line
                if template is _UNKNOWN and key is not None:
                    template = templates.find(key) or _record(module_context, constants, eqn, key, location)
            if template:
                if template.only is not None:  # as `emit`, in 0.5 us less; three of four equations
                    name, types, attributes = template.only
                    env[eqn.outvars[0]] = create(name, types, values, attributes, None, 0, location, point).result
                    continue
                outs = template.emit(values, location, block)
            else:
                values = [_value(env, x, templates, block, location) for x in eqn.invars]
                with location:
                    outs = _apply_rule(LoweringRuleContext(module_context, constants, eqn), *values)
            env.update(zip(eqn.outvars, outs))
    except Exception as error:
        if eqn is not None:
            _refuse_traced_parameters(error, eqn)
            _add_source_note(error, eqn)
        raise
    finally:
        context.source, module_context.locations = before, around
    return [_value(env, x, templates, block, ir.Location.current) for x in jaxpr.outvars]


_UNKNOWN: Any = False


def _value(env: dict[Any, IrValue], x: Atom, templates: Templates, block: Block, location: ir.Location) -> IrValue:
    """Return the value of a variable or of a literal; equal literals of a block share one constant."""
    return block.emit(templates.literal(x), location) if type(x) is Literal else env[x]


def _record(
    module_context: ModuleContext, constants: Constants, eqn: JaxprEqn, key: Any, location: ir.Location
) -> Template | None:
    """Return the template for equations like `eqn`, None if their rule must run each time."""
    ctx = LoweringRuleContext(module_context, constants, eqn)
    with location:
        template = module_context.templates.record(key, eqn, location, partial(_apply_rule, ctx))
    if not ctx.asks_for_module:
        module_context.templates.keep(key)
    return template


def _apply_rule(ctx: LoweringRuleContext, *values: IrValue) -> Sequence[IrValue]:
    """Emit an equation by the rule of its primitive; return its results, checked."""
    eqn, module_context = ctx.eqn, ctx._module_context
    rule = module_context.rules.get(eqn.primitive) or _look_up_rule(module_context, eqn.primitive)
    outs = rule(ctx, *values, **eqn.params)
    check_results(eqn, outs, module_context.types)
    return outs


def _look_up_rule(module_context: ModuleContext, primitive: Any) -> Rule:
    rule = module_context.rules[primitive] = lowering_rule(primitive, module_context.platform)
    return rule


def _refuse_traced_parameters(error: Exception, eqn: JaxprEqn) -> None:
    """Refuse an equation with a traced value as a parameter, which is looked for after an error only.

    Raises: ConcretizationTypeError that names the parameter.
    """
    for name, value in eqn.params.items():
        if has_tracer(value):
            raise ConcretizationTypeError(
                f"the parameter {name} of '{eqn.primitive.name}'{at_place(eqn.position)} is the traced value {value}, "
                "but parameters must be known while a function is traced. Pass it as an operand, or make the argument "
                "that decides it static (static_argnums)."
            ) from error


def _add_source_note(error: Exception, eqn: JaxprEqn) -> None:
    info = resolve(eqn.position)
    note = f"This happened in lowering '{eqn.primitive.name}'" + (f", bound at {info}." if info else ".")
    if not any(old.startswith("This happened in lowering") for old in getattr(error, "__notes__", ())):
        error.add_note(note)
