import pytest

from calque_core import Primitive, lax, rule_matrix
from calque_core.kits.matrix import KINDS, core_primitives, standard_primitives, state_of


def rule(*args, **params):
    return args


def make_example():
    p = Primitive("example")
    p.def_impl(rule)
    p.def_rule("jvp", rule)
    p.def_rule("lowering", rule, platform="cpu")
    p.def_hole("transpose", "it is not linear")
    return p


def test_a_state_is_a_rule_a_stated_hole_or_missing():
    p = make_example()
    states = {kind: state_of(p, kind) for kind in KINDS}
    assert states == {
        "impl": "rule",
        "abstract_eval": "missing",
        "jvp": "rule",
        "transpose": "hole: it is not linear",
        "jet": "missing",
        "batch": "missing",
        "lowering": "rule",
    }


def test_another_kind_that_serves_the_same_transformation_counts():
    p = Primitive("mapped")
    p.def_rule("axis_batch", rule)
    assert state_of(p, "batch") == "rule"
    assert state_of(p, "jvp") == "missing"


def test_the_table_has_a_line_per_primitive_and_the_reasons_below():
    assert rule_matrix([make_example(), Primitive("p", linearity="constant")]) == (
        "         impl  abstract_eval  jvp  transpose  jet  batch  lowering\n"
        "example  +     -              +    .          -    -      +\n"
        "p        -     -              -    -          +    -      -\n"
        "\n"
        "example, transpose: it is not linear"
    )


def test_a_table_without_holes_ends_after_its_lines():
    assert rule_matrix([Primitive("p")]).splitlines()[-1].split() == ["p", *"-" * len(KINDS)]
    assert rule_matrix([]).split() == list(KINDS)


def test_the_standard_primitives_are_those_of_lax_and_of_installed_families_each_once_by_name():
    names = [p.name for p in standard_primitives()]
    assert names == sorted(set(names))
    assert {"sin", "add", "cond", "jit", "dot_general", "psum"} <= set(names)
    of_core = {getattr(m, name).name for m in (lax,) for name in m.__all__ if name.endswith("_p")}
    assert {p.name for p in core_primitives()} == of_core
    assert len(rule_matrix().split("\n\n")[0].splitlines()) == len(names) + 1


def test_a_family_that_is_not_installed_has_no_standard_primitives(monkeypatch):
    monkeypatch.setattr("calque_core.kits.matrix.FAMILIES", ("calque_of_the_sea",))
    assert standard_primitives() == core_primitives()


@pytest.mark.parametrize("primitive", standard_primitives(), ids=repr)
def test_every_standard_primitive_evaluates_and_has_a_type(primitive):
    state = state_of(primitive, "impl")
    assert state == "rule" or "decomposition" in primitive.rules or "runs by a backend" in state
    assert state_of(primitive, "abstract_eval") == "rule" or "decomposition" in primitive.rules
