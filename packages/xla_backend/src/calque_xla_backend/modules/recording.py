"""Recording: from the operations that a lowering rule emits to a template.

One idea: the rule emits into a block aside, on arguments of this block, and the template is read from the block.

The rule runs each time for equations with effects or with parameters that are no plain values (programs, functions),
and where its operations use values or places from outside, or capture values in their regions.

Read next: `templates.py`, which emits the operations of a template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import JaxprEqn, Literal, Var
from calque_xla_backend.modules.template_keys import literal_key
from calque_xla_backend.modules.templates import Attributes, SharedOperation, Step, Template
from calque_xla_backend.modules.types import IrValue, aval_to_ir_type, dense_attribute

Emit = Callable[..., Sequence[IrValue]]
_DETACHED: Any = False  # an insertion point that is nowhere
_CONSTANT = "stablehlo.constant"
_SHARED = frozenset((_CONSTANT, "stablehlo.broadcast_in_dim", "stablehlo.iota"))  # on constants alone


@dataclass(slots=True)
class Recorded:
    """The templates that fit every module of one MLIR context, and their shared operations.

    They save 1.6 us per equation of a program whose equations were lowered before, in other programs.
    """

    templates: dict[Any, Template] = field(default_factory=dict)  # by key
    shared: dict[Any, SharedOperation] = field(default_factory=dict)  # by contents
    literals: dict[Any, SharedOperation] = field(default_factory=dict)


class Templates:
    """The templates of one module, by key; None for a key whose rule must run each time."""

    __slots__ = ("_aside", "_recorded", "by_key")

    def __init__(self, recorded: Recorded) -> None:
        self.by_key: dict[Any, Template | None] = {}
        self._recorded = recorded
        self._aside: Any = None

    def record(self, key: Any, eqn: JaxprEqn, location: ir.Location, emit: Emit) -> Template | None:
        """Run `emit(*values)` aside; return its template, kept under `key`; None if the rule must run each time."""
        template = self.by_key[key] = None if _has_effects(eqn) else self._record(eqn, location, emit)
        return template

    def find(self, key: Any) -> Template | None:
        """Return the template that another module of the MLIR context recorded, or None."""
        template = self._recorded.templates.get(key)
        if template is not None:
            self.by_key[key] = template
        return template

    def keep(self, key: Any) -> None:
        """Let other modules of the MLIR context use the template of `key`: its rule did not ask for the module."""
        template = self.by_key[key]
        if template is not None:
            self._recorded.templates[key] = template

    def literal(self, x: Literal) -> SharedOperation:
        """Return the constant of a literal; equal literals share one."""
        key, literals = literal_key(x), self._recorded.literals
        shared = literals.get(key)
        if shared is None:
            attribute = dense_attribute(x.val, x.aval.dtype)
            shared = literals[key] = self._share(_CONSTANT, attribute.type, (), {"value": attribute})
        return shared

    def _record(self, eqn: JaxprEqn, location: ir.Location, emit: Emit) -> Template | None:
        if self._aside is None:
            self._aside = func.FuncOp("aside", ir.FunctionType.get([], []), ip=_DETACHED)
        block = self._aside.body.blocks.append()
        with ir.InsertionPoint(block):
            operands = [self._operand(block, x, location) for x in eqn.invars]
            outs = emit(*operands)
        literals = {value: self.literal(x) for value, x in zip(operands, eqn.invars) if type(x) is Literal}
        ops = [view.operation for view in islice(block.operations, len(literals), None)]  # the constants come first
        if not all(_is_complete(op, location) for op in ops):
            return None
        return self._template(ops, operands, literals, outs)

    def _operand(self, block: ir.Block, x: Var | Literal, location: ir.Location) -> IrValue:
        """Return a value that stands for an operand of an equation: an argument of the block, or a constant."""
        if type(x) is Literal:
            return hlo.constant(self.literal(x).attributes["value"])
        return block.add_argument(aval_to_ir_type(x.aval), location)

    def _template(
        self,
        ops: Sequence[ir.Operation],
        operands: Sequence[IrValue],
        shared: dict[IrValue, SharedOperation],
        outs: Sequence[IrValue],
    ) -> Template | None:
        """Return the template of some operations; None if they use other values than operands and results.

        `shared` holds the literals among the operands; this adds the values that depend on nothing but literals.
        """
        own = [op for op in ops if not self._is_shared(op, shared)]
        used = {x: shared[x] for values in (*[op.operands for op in own], outs) for x in values if x in shared}
        number = count()
        numbers = {x: next(number) for x in (*operands, *used)}
        steps = []
        for op in own:
            if not all(x in numbers for x in op.operands):
                return None
            steps.append(_step(op, [numbers[x] for x in op.operands]))
            numbers.update((x, next(number)) for x in op.results)
        if not all(x in numbers for x in outs):
            return None
        return Template(steps, [numbers[x] for x in outs], len(operands), list(used.values()), self._aside)

    def _is_shared(self, op: ir.Operation, shared: dict[IrValue, SharedOperation]) -> bool:
        """Tell whether an operation depends on shared values alone; its result is then one of them."""
        attributes = _attributes(op) if op.name in _SHARED and all(x in shared for x in op.operands) else None
        if attributes is None:
            return False
        shared[op.result] = self._share(op.name, op.result.type, tuple([shared[x] for x in op.operands]), attributes)
        return True

    def _share(
        self, name: str, result_type: ir.Type, operands: tuple[SharedOperation, ...], attributes: Attributes
    ) -> SharedOperation:
        """Return the one shared operation with these contents."""
        key = name, result_type, operands, *attributes.items()
        shared = self._recorded.shared.get(key)
        if shared is None:
            shared = self._recorded.shared[key] = SharedOperation(name, [result_type], operands, attributes)
        return shared


def _has_effects(eqn: JaxprEqn) -> bool:
    return bool(eqn.primitive.effects or eqn.primitive.adapted["effects"])


def _is_complete(op: ir.Operation, location: ir.Location) -> bool:
    """Tell whether an operation has the place of the equation, and regions that use no values from outside."""
    inside = list(_operations_inside(op)) if len(op.regions) else []
    if any(each.location != location for each in (op, *inside)) or (inside and _captures(op, inside)):
        return False
    for each in inside:
        each.location = ir.Location.unknown()  # the equations have places of their own, and a copy keeps this one
    return True


def _step(op: ir.Operation, operands: Sequence[int]) -> Step:
    attributes = None if len(op.regions) else _attributes(op)
    types = [x.type for x in op.results]
    return Step(op.name, types, operands, attributes or {}, op if attributes is None else None)


def _attributes(op: ir.Operation) -> Attributes | None:
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
