"""Templates: what a lowering rule emitted for one equation, ready to be emitted for every equal one.

One idea: a rule sees the types, literals and parameters of an equation, and no more.  So it runs once for equations
that agree in them: it emits its operations into a block aside, and each equation gets a copy of these operations on its
own operands.  A copy takes 1 us per operation, where a rule and jaxlib's builders take 4 to 12.

The rule runs each time for equations with effects or with parameters that are no plain values (programs, functions),
and where its operations use values or places from outside, or capture values in their regions.

Read next: `lowering.py`, which asks for templates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from calque_core import JaxprEqn, Literal, Var
from calque_xla_backend.exact_keys import exact_key
from calque_xla_backend.modules.types import IrValue, aval_to_ir_type, ir_constant

Emit = Callable[..., Sequence[IrValue]]
_CONSTANT = "stablehlo.constant"
_DETACHED: Any = False  # an insertion point that is nowhere
_create, _aval = ir.Operation.create, attrgetter("aval")


def template_key(eqn: JaxprEqn) -> Any:
    """Return what a rule may ask of an equation: primitive, types, literals, parameters; None if it must see each.

    Keys of equations with effects have no template.
    """
    primitive, invars, outvars, params, _ = eqn
    key = (primitive, *map(_aval, invars), None, *map(_aval, outvars))
    if Literal in map(type, invars):
        key += (*[literal_key(x) if type(x) is Literal else None for x in invars],)
    if not params:
        return key
    try:
        return (*key, *params, exact_key((*params.values(),)))
    except TypeError:
        return None


def literal_key(x: Literal) -> Any:
    """Return a key of a literal that is equal for equal constants."""
    dtype = x.aval.dtype
    # Equal values are equal constants, except zeros, which have a sign.
    return (dtype, x.val) if x.val and dtype.kind != "c" else (dtype, np.asarray(x.val, dtype).tobytes())


class Step(NamedTuple):
    """An operation of a template; numbers stand for values: first the operands of the equation, then all results."""

    name: str
    types: Sequence[ir.Type]
    operands: Sequence[int]
    attributes: dict[str, ir.Attribute]
    original: ir.Operation | None  # copied whole: an operation with regions, or with attributes that cannot be read


class Block:
    """The end of a block, where operations are emitted; equal constants in the block are one operation."""

    __slots__ = ("constants", "point")

    def __init__(self) -> None:
        self.point = ir.InsertionPoint.current
        self.constants: dict[ir.Attribute, IrValue] = {}

    def constant(self, attribute: ir.Attribute, location: ir.Location) -> IrValue:
        """Return a constant of the program."""
        value = self.constants.get(attribute)
        if value is None:
            op = _create(_CONSTANT, [attribute.type], (), {"value": attribute}, None, 0, location, self.point)
            value = self.constants[attribute] = op.result
        return value


class Template:
    """The operations of a rule.

    Most rules emit one operation, on the operands as they are, with one result: `only` holds its name, its types and
    its attributes, for a shorter way.
    """

    __slots__ = ("only", "outs", "steps")

    def __init__(self, steps: Sequence[Step], outs: Sequence[int], count: int) -> None:
        self.steps, self.outs = steps, outs
        self.only: tuple[str, Sequence[ir.Type], dict[str, ir.Attribute]] | None = None
        if len(steps) == 1 and _is_plain(steps[0], outs, count):
            self.only = steps[0].name, steps[0].types, steps[0].attributes

    def emit(self, values: list[IrValue], location: ir.Location, block: Block) -> list[IrValue]:
        """Emit the operations on the operands `values`, which this extends; return the results of the equation."""
        point = block.point
        for name, types, operands, attributes, original in self.steps:
            inputs = [values[i] for i in operands]
            if original is not None:
                op = _copy(original, inputs, location, point)
            elif name == _CONSTANT:
                values.append(block.constant(attributes["value"], location))
                continue
            else:
                op = _create(name, types, inputs, attributes, None, 0, location, point)
            if len(types) == 1:
                values.append(op.result)
            else:
                values.extend(op.results)
        return [values[i] for i in self.outs]


def _is_plain(step: Step, outs: Sequence[int], count: int) -> bool:
    """Tell whether an operation takes all `count` operands in their order, and gives the only result."""
    return not step.original and step.operands == [*range(count)] and outs == [count] and len(step.types) == 1


def _copy(
    original: ir.Operation, inputs: Sequence[IrValue], location: ir.Location, point: ir.InsertionPoint
) -> ir.Operation:
    """Emit an operation with its regions, on other operands."""
    op = original.clone(point).operation
    operands = op.operands
    for i, value in enumerate(inputs):
        operands[i] = value
    op.location = location
    return op


class Templates:
    """The templates of one module, by key; None for a key whose rule must run each time."""

    __slots__ = ("by_key", "_aside")

    def __init__(self) -> None:
        self.by_key: dict[Any, Template | None] = {}
        self._aside: Any = None

    def record(self, key: Any, eqn: JaxprEqn, location: ir.Location, emit: Emit) -> Template | None:
        """Run `emit(*values)` aside; return its template, kept under `key`; None for an equation with effects."""
        if eqn.primitive.effects or eqn.primitive.adapted["effects"]:
            self.by_key[key] = None
            return None
        if self._aside is None:
            self._aside = func.FuncOp("aside", ir.FunctionType.get([], []), ip=_DETACHED)
        block = self._aside.body.blocks.append()
        with ir.InsertionPoint(block):
            operands = [_operand(block, x, location) for x in eqn.invars]
            outs = emit(*operands)
        template = self.by_key[key] = _template(block, operands, outs, location)
        return template


def _operand(block: ir.Block, x: Var | Literal, location: ir.Location) -> IrValue:
    """Return a value that stands for an operand of an equation: an argument of the block, or a constant."""
    if type(x) is Literal:
        return ir_constant(x.val, x.aval.dtype)
    return block.add_argument(aval_to_ir_type(x.aval), location)


def _template(
    block: ir.Block, operands: Sequence[IrValue], outs: Sequence[IrValue], location: ir.Location
) -> Template | None:
    """Return the template of the operations in a block; None if the rule must run each time."""
    numbers: dict[IrValue, int] = {value: i for i, value in enumerate(operands)}
    constants = len(operands) - len(block.arguments)  # of literals; they come first
    steps = []
    for op in (view.operation for view in islice(block.operations, constants, None)):
        inside = list(_operations_inside(op))
        is_elsewhere = any(each.location != location for each in (op, *inside))
        if is_elsewhere or not all(x in numbers for x in op.operands) or (inside and _captures(op, inside)):
            return None
        steps.append(_step(op, numbers, inside))
        for x in op.results:
            numbers[x] = len(numbers)
    if not all(x in numbers for x in outs):
        return None
    return Template(steps, [numbers[x] for x in outs], len(operands))


def _step(op: ir.Operation, numbers: dict[IrValue, int], inside: Sequence[ir.Operation]) -> Step:
    operands, types = [numbers[x] for x in op.operands], [x.type for x in op.results]
    for each in inside:
        each.location = ir.Location.unknown()  # the equations have places of their own, and a copy keeps this one
    attributes = None if len(op.regions) else _attributes(op)
    return Step(op.name, types, operands, attributes or {}, op if attributes is None else None)


def _attributes(op: ir.Operation) -> dict[str, ir.Attribute] | None:
    """Return the attributes of an operation; None if jaxlib cannot read them, as those of complex constants."""
    attributes = op.attributes
    try:
        return {name: attributes[name] for name in attributes.keys()}  # noqa: SIM118  (it is no dict)
    except TypeError:
        return None


def _operations_inside(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the operations in the regions of an operation, at any depth."""
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from _operations_inside(view.operation)


def _captures(op: ir.Operation, inside: Sequence[ir.Operation]) -> bool:
    """Tell whether the regions of an operation use values from outside: a copy would still use these."""
    arguments = {x for each in (op, *inside) for region in each.regions for block in region for x in block.arguments}
    defined = arguments | {x for each in inside for x in each.results}
    return not all(x in defined for each in inside for x in each.operands)
