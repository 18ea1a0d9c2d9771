"""The trace that processes named values, and plants other values in their place.

One idea: it has no tracers.  It sees every operation, keeps what `sow` reports, and hands the other operations to its
parent as they are.  An operation that holds a program with names of its tag is opened: the program becomes one that
takes the planted values as further operands, and returns the sown values as further results.

A primitive that holds programs may have a rule of kind "harvest", `rule(trace, *args, **params)`, which returns the
list of results.  It opens the programs by `trace.open`, and gives what they sow to `trace.add`.  A primitive that means
one program (`calque_core.extend.means`) needs none.

Read next: `programs.py`, the rules of branches and loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from calque_core import (
    Jaxpr,
    Primitive,
    Trace,
    UnexpectedTracerError,
    current_trace,
    dce_jaxpr,
    eval_jaxpr,
    evaluation,
    hand_custom_down,
    hand_down,
    instantiate_zeros,
    jaxprs_in_params,
    lax,
    rules,
    stage,
    tracing,
    typeof,
)
from calque_core.extend import run_program, settings_key, where, zero_tangent
from calque_harvest.marks import marks, marks_of, site_p, site_tangent_p, sow_p
from calque_harvest.rules_inside import Inside
from calque_harvest.sites import sites, sites_of
from calque_harvest.values import Plant, Site, Sown, add, kept, row, unflatten

Value = Any
Params = dict[str, Any]
harvest_rules = rules("harvest")


class Planted(NamedTuple):
    """The operands that an opened program takes for the plant of a name; or their types in place of values."""

    name: str
    tree: Any
    leaves: tuple[Value, ...]

    def types(self) -> Planted:
        """Return the types of the operands."""
        return self._replace(leaves=tuple(map(typeof, self.leaves)))


class Opened(NamedTuple):
    """A program that takes `consts`, planted values and its arguments; it returns its results and what it sows.

    `sown` has types in place of values.
    """

    jaxpr: Jaxpr
    consts: list[Value]
    sown: dict[str, Sown]


class HarvestTrace(Trace):
    """Keeps the values that are sown under a tag, and plants `plants`."""

    verb = "harvest"

    def __init__(self, parent: Trace, label: str, plants: Mapping[str, Plant], zeroed: frozenset[str]) -> None:
        super().__init__(parent)
        self.label, self.plants, self.zeroed = label, plants, zeroed  # the tag; names whose tangents are zero
        self.sown: dict[str, Sown] = {}

    def close(self) -> None:
        super().close()
        self.plants, self.sown = {}, {}  # the trace may outlive its run in a traceback

    def process_primitive(self, primitive: Primitive, args: Sequence[Value], params: Params) -> list[Value]:
        if params:
            process = _PROCESSES.get(primitive)
            if process is not None and params["tag"] == self.label:
                return process(self, args, params)
            if self._is_opened(primitive, params):
                return self._open(primitive, args, params)
        return self.down(primitive, args, params)

    def down(self, primitive: Primitive, args: Sequence[Value], params: Params) -> list[Value]:
        """Bind an operation on the parent."""
        assert self.parent is not None
        return hand_down(self.parent, primitive, args, params)

    # Named values

    def site(self, leaves: Sequence[Value], params: Params) -> list[Value]:
        """Return the planted value of the name, if there is one."""
        plant = self.plants.get(params["name"])
        if plant is None:
            return list(leaves)
        taken = plant.take(Site(params["mode"], params["tree"], tuple(map(typeof, leaves)), where()))
        return [lax.squeeze(x, (0,)) for x in taken] if params["mode"] == "append" else taken

    def site_tangent(self, leaves: Sequence[Value], params: Params) -> list[Value]:
        """Return zeros if the name is planted: a planted value is a constant."""
        if params["name"] not in self.zeroed:
            return list(leaves)
        return [instantiate_zeros(zero_tangent(x)) for x in leaves]

    def sow(self, leaves: Sequence[Value], params: Params) -> list[Value]:
        """Keep the values of a name."""
        name, mode = params["name"], params["mode"]
        if params["partial"]:
            if name in self.zeroed and name in self.sown:
                return []
            if name not in self.zeroed:
                raise NotImplementedError(
                    f"the name {name!r} is sown{where()} in a branch or a loop under vmap, where only some elements of "
                    "the batch have the value. Harvest each element: vmap(harvest(f)) in place of harvest(vmap(f))."
                )
        values = [kept(x) for x in leaves]
        part = [row(x) for x in values] if mode == "append" else values
        add(self.sown, name, Sown(mode, params["tree"], [part], where()))
        return []

    # Programs

    def _is_opened(self, primitive: Primitive, params: Params) -> bool:
        if next(jaxprs_in_params(params), None) is None:
            return False
        return any(tag == self.label for tag, _ in marks_of(primitive, params))

    def _open(self, primitive: Primitive, args: Sequence[Value], params: Params) -> list[Value]:
        """Process an operation that holds a program with names."""
        rule = harvest_rules.get(primitive)
        if rule is not None:
            return rule(self, *args, **params)  # type: ignore[no-any-return]
        meaning = rules("means").get(primitive)
        if meaning is not None and len(list(jaxprs_in_params(params))) == 1:
            return open_call(self, primitive, args, params)
        if meaning is not None and self.parent is evaluation:  # nobody asks for the other programs, for derivatives
            return run_program(meaning(**params), args)
        names = ", ".join(sorted(repr(name) for tag, name in marks_of(primitive, params) if tag == self.label))
        raise NotImplementedError(
            f"harvest met '{primitive.name}'{where()}, which holds a program that sows {names}, and has no rule to "
            f'open it. Sow outside of it, or give it a rule: {primitive.name}_p.def_rule("harvest", fn).'
        )

    def planted(self, sites: Mapping[str, Site]) -> list[Planted]:
        """Take the plants of a program whose names have these sites."""
        names = [name for name in sites if name in self.plants]
        return [Planted(name, sites[name].tree, tuple(self.plants[name].take(sites[name]))) for name in names]

    def open(self, jaxpr: Jaxpr, plants: Iterable[Planted]) -> Opened:
        """Return a program that takes plants of these types first."""
        layout = tuple(plants)
        zeroed = self.zeroed & {name for tag, name in marks(jaxpr) if tag == self.label}
        key = ("harvest", self.label, layout, zeroed, *settings_key())
        return jaxpr.memo(key, lambda: _open_program(self, jaxpr, layout))  # type: ignore[no-any-return]

    def add(self, sown: Mapping[str, Sown], leaves: Sequence[Value]) -> None:
        """Keep what an operation has sown: its last results, in the order of `sown`."""
        remaining = iter(leaves)
        for name, types in sown.items():
            add(self.sown, name, types._replace(parts=[[next(remaining) for _ in types.parts[0]]]))

    def process_custom_derivative(
        self, primitive: Primitive, fun: Callable[..., Sequence[Value]], args: Sequence[Value], params: Params
    ) -> list[Value]:
        """Process a function with derivative rules of its own.

        Its results keep the rules, and the rules see the planted values.  The values that it sows are computed by its
        operations, apart from the results, and are differentiated as these are.
        """
        if self.parent is evaluation:
            return list(fun(*args))
        assert self.parent is not None
        jaxpr = stage(fun, [typeof(x) for x in args], verb="harvest", user_fun=fun)
        planted = self.planted(sites(jaxpr, self.label))
        if planted:
            outs = self._hand_planted_down(primitive, fun, args, params["rules"], planted)
        else:
            outs = hand_custom_down(self.parent, primitive, fun, args, params)
        if any(tag == self.label for tag, _ in marks(jaxpr)):
            _check_effects(jaxpr, params["rules"].name)
            sowing, used = dce_jaxpr(jaxpr, [False] * len(jaxpr.outvars))
            with tracing(self.over(self.parent, planted)) as inner:
                eval_jaxpr(sowing, sowing.consts, *[x for x, is_used in zip(args, used) if is_used])
                for name, sown in inner.sown.items():
                    add(self.sown, name, sown)
        return outs

    def _hand_planted_down(
        self, primitive: Primitive, fun: Callable[..., Any], args: Sequence[Value], rules: Any, planted: list[Planted]
    ) -> list[Value]:
        """Hand down a function with derivative rules that all run with plants.

        Raises: NotImplementedError if the plants are being differentiated.
        """
        assert self.parent is not None
        inside = Inside(lambda parent: self.over(parent, planted))
        params = {"rules": rules.through(inside, ("plant", object()))}
        try:
            return hand_custom_down(self.parent, primitive, partial(inside.run, fun), args, params)
        except UnexpectedTracerError as error:
            names = ", ".join(repr(plant.name) for plant in planted)
            raise NotImplementedError(
                f"the plants {names} inside of {rules.name}{where()} are being differentiated, but the derivative "
                "rules of the function cover its arguments only. Sow outside of the function."
            ) from error

    def over(self, parent: Trace, planted: Iterable[Planted]) -> HarvestTrace:
        """Return a trace for a program inside, with these plants."""
        plants = {plant.name: Plant(plant.name, unflatten(plant.tree, plant.leaves)) for plant in planted}
        return HarvestTrace(parent, self.label, plants, self.zeroed)


_PROCESSES: dict[Primitive, Callable[[HarvestTrace, Sequence[Value], Params], list[Value]]] = {
    site_p: HarvestTrace.site,
    site_tangent_p: HarvestTrace.site_tangent,
    sow_p: HarvestTrace.sow,
}


def _open_program(trace: HarvestTrace, jaxpr: Jaxpr, layout: Sequence[Planted]) -> Opened:
    sown: dict[str, Sown] = {}

    def run(*args: Value) -> list[Value]:
        remaining = iter(args)
        planted = [plant._replace(leaves=tuple([next(remaining) for _ in plant.leaves])) for plant in layout]
        with tracing(trace.over(current_trace(), planted)) as inner:
            outs = run_program(jaxpr, list(remaining))
            leaves = {name: entry.leaves() for name, entry in inner.sown.items()}
            for name, entry in inner.sown.items():
                sown[name] = entry._replace(parts=[[typeof(x) for x in leaves[name]]])
        return [*outs, *(x for column in leaves.values() for x in column)]

    staged = stage(run, [*leaves_of(layout), *jaxpr.in_avals], verb="harvest", user_fun=trace.fun)
    operands = [*staged.constvars, *staged.invars]
    return Opened(staged.replace(constvars=(), consts=(), invars=operands), list(staged.consts), sown)


def _check_effects(jaxpr: Jaxpr, name: str) -> None:
    """Check that a function whose operations run twice has no other effect.  Raises: NotImplementedError."""
    effects = sorted(map(str, jaxpr.effects - sow_p.effects))
    if effects:
        raise NotImplementedError(
            f"{name}{where()}, which has derivative rules, sows a value and has the effect {effects[0]}, which would "
            "happen twice. Sow outside of the function."
        )


def leaves_of(plants: Sequence[Planted]) -> list[Value]:
    """Return the leaves of all plants."""
    return [x for plant in plants for x in plant.leaves]


def open_call(trace: HarvestTrace, primitive: Primitive, args: Sequence[Value], params: Params) -> list[Value]:
    """Process an operation that means one program, applied to its operands."""
    jaxpr = rules("means")[primitive](**params)
    parameter = next(name for name, value in params.items() if value is jaxpr)
    plants = trace.planted(sites_of(primitive, params, trace.label))
    opened = trace.open(jaxpr, map(Planted.types, plants))
    operands = [*opened.consts, *leaves_of(plants), *args]
    outs = trace.down(primitive, operands, params | {parameter: opened.jaxpr})
    count = len(jaxpr.outvars)
    trace.add(opened.sown, outs[count:])
    return outs[:count]
