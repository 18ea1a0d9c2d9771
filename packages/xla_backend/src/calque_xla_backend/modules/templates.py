"""Templates: the operations of a lowering rule for one equation, ready to be emitted for every equal one.

One idea: a rule sees the types, literals and parameters of an equation, and no more.  So it runs once for equations
that agree in them, and each equation gets a copy of its operations on its own operands.  A copy takes 1 us per
operation, where a rule and jaxlib's builders take 4 to 12.  Values that are equal for all equations, such as constants,
are operations that the equations of a block share.

Read next: `recording.py`, which makes templates of the operations of rules; `lowering.py`, which asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxlib.mlir import ir

from calque_xla_backend.modules.types import IrValue

_create = ir.Operation.create
Attributes = dict[str, ir.Attribute]


class Step(NamedTuple):
    """An operation of a template; numbers stand for values: operands of the equation, shared values, all results."""

    name: str
    types: Sequence[ir.Type]
    operands: Sequence[int]
    attributes: Attributes
    original: ir.Operation | None  # copied whole: an operation with regions, or with attributes that cannot be read


class SharedOperation:
    """An operation that depends on no equation: a constant, its broadcast, positions.  Compared by identity."""

    __slots__ = ("attributes", "name", "operands", "types")

    def __init__(
        self, name: str, types: Sequence[ir.Type], operands: Sequence[SharedOperation], attributes: Attributes
    ) -> None:
        self.name, self.types, self.operands, self.attributes = name, types, operands, attributes


class Block:
    """The end of a block, where operations are emitted; the shared operations of the block are emitted once."""

    __slots__ = ("point", "values")

    def __init__(self) -> None:
        self.point = ir.InsertionPoint.current
        self.values: dict[SharedOperation, IrValue] = {}

    def emit(self, shared: SharedOperation, location: ir.Location) -> IrValue:
        """Return the result of a shared operation; the first call emits it."""
        value = self.values.get(shared)
        if value is None:
            operands = [self.emit(x, location) for x in shared.operands]
            op = _create(shared.name, shared.types, operands, shared.attributes, None, 0, location, self.point)
            value = self.values[shared] = op.result
        return value


class Template:
    """The operations of a rule.

    Most rules emit one operation, on the operands as they are, with one result: `only` holds its name, its types and
    its attributes, for a shorter way.  `home` is the operation that owns the originals of the steps.
    """

    __slots__ = ("home", "only", "outs", "shared", "steps")

    def __init__(
        self, steps: Sequence[Step], outs: Sequence[int], count: int, shared: Sequence[SharedOperation], home: Any
    ) -> None:
        self.steps, self.outs, self.shared, self.home = steps, outs, shared, home
        self.only: tuple[str, Sequence[ir.Type], Attributes] | None = None
        if len(steps) == 1 and _is_plain(steps[0], outs, count):
            self.only = steps[0].name, steps[0].types, steps[0].attributes

    def emit(self, values: list[IrValue], location: ir.Location, block: Block) -> list[IrValue]:
        """Emit the operations on the operands `values`, which this extends; return the results of the equation.

        A literal among the operands may be None: it is a shared value.
        """
        point = block.point
        values.extend([block.emit(one, location) for one in self.shared])
        for name, types, operands, attributes, original in self.steps:
            inputs = [values[i] for i in operands]
            if original is not None:
                op = _copy(original, inputs, location, point)
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
