"""Every primitive has a lowering rule or a stated hole, in the module that has the name of the primitive's own."""

import importlib

import pytest

import calque_xla_backend.rules
from calque_core import lax
from calque_core.primitive import Primitive
from calque_core.rules import rules

PRIMITIVES = {name: value for name, value in vars(lax).items() if isinstance(value, Primitive)}
FAMILIES = [
    *("broadcast", "call", "compare", "control_flow", "convert", "create", "dot", "elementwise", "reduce", "rounding"),
    *("shape", "sort", "special"),
]


@pytest.mark.parametrize("name", PRIMITIVES)
def test_every_primitive_is_lowered_or_says_why_not(name):
    primitive = PRIMITIVES[name]
    assert primitive in rules("lowering") or "lowering" in primitive.holes


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_names_the_primitives_of_core_in_the_order_of_core(family):
    core = vars(importlib.import_module(f"calque_core.ops.{family}"))
    declared = [name for name, value in core.items() if isinstance(value, Primitive)]
    ours = vars(importlib.import_module(f"calque_xla_backend.rules.{family}"))
    own = [name for name, value in ours.items() if isinstance(value, Primitive)]
    assert set(own) <= set(declared), "a rule for a primitive of another family"
    assert own, family


def test_every_rule_module_is_imported_by_the_package():
    for family in FAMILIES:
        assert hasattr(calque_xla_backend.rules, family)
