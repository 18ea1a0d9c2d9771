"""Every primitive means a program, or has a lowering rule or a stated hole in the module of its own module's name."""

import importlib

import pytest

from calque_core import lax
from calque_core.kits.matrix import state_of
from calque_core.primitives.families import modules_of
from calque_core.primitives.primitive import Primitive
from calque_core.primitives.rules import rules


def primitives_in(namespace):
    named = {name: getattr(namespace, name) for name in dir(namespace) if name.endswith("_p")}
    return {name: value for name, value in named.items() if isinstance(value, Primitive)}


def families_of(package):
    modules = {name: importlib.import_module(name) for name in modules_of(package)}
    return {name.removeprefix(package): primitives_in(module) for name, module in modules.items()}


CORE = families_of("calque_core.ops")
RULES = families_of("calque_xla_backend.rules")


def is_made_of_others(primitive):
    return primitive in rules("means") or primitive in rules("decomposition")


@pytest.mark.parametrize("primitive", primitives_in(lax).values(), ids=str)
def test_every_primitive_is_lowered_or_says_why_not(primitive):
    assert state_of(primitive, "lowering") != "missing"


@pytest.mark.parametrize("name", sorted({name for primitives in CORE.values() for name in primitives}))
def test_the_rule_of_a_primitive_is_in_the_module_of_its_own_name(name):
    ruled_in = {family for family, primitives in RULES.items() if name in primitives}
    named_in = {family for family, primitives in CORE.items() if name in primitives}
    assert ruled_in or is_made_of_others(next(CORE[family][name] for family in named_in))
    assert ruled_in <= named_in
