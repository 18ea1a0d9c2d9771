from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import pytest

from calque_core import Primitive, lax, rule_epoch, rules
from calque_core.extend import rules_by_family
from calque_core.primitives import families

RULES = """
from __main_of_test__ import primitive, bodies, gate
bodies.append("late_rules.sounds")
primitive.def_rule("chime", lambda x: 2 * x)
gate()
primitive.def_hole("knell", "nobody died")
"""


@pytest.fixture
def late(tmp_path, monkeypatch):
    """A primitive of the family "sounds", whose rules `late_rules.sounds` defines when they are first asked for."""

    late = SimpleNamespace(primitive=Primitive("sound"), bodies=[], gate=lambda: None)
    late.primitive.family = late.primitive.adapted.family = "my_field.sounds"
    holder = type(sys)("__main_of_test__")
    holder.primitive, holder.bodies, holder.gate = late.primitive, late.bodies, lambda: late.gate()
    monkeypatch.setitem(sys.modules, "__main_of_test__", holder)
    (tmp_path / "late_rules").mkdir()
    (tmp_path / "late_rules" / "__init__.py").write_text("")
    (tmp_path / "late_rules" / "sounds.py").write_text(RULES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(families, "columns", dict(families.columns))
    monkeypatch.setattr(families, "readers", dict(families.readers))
    monkeypatch.setattr(families, "_absent", set())
    rules_by_family("late_rules", kinds=["chime", "knell"], of="my_field")
    yield late
    for name in ("late_rules", "late_rules.sounds"):
        sys.modules.pop(name, None)


def test_a_primitive_belongs_to_the_family_of_the_module_that_declares_it():
    from calque_core.lax import convert_element_type_p, jit_p, sin_p, sort_p  # noqa: PLC0415

    families = [p.family for p in (sin_p, sort_p, convert_element_type_p, jit_p)]
    paths = ["elementwise.trigonometric", "indexing.sort", "elementwise.convert", "calls.jit"]
    assert families == [f"calque_core.ops.{path}" for path in paths]


def test_every_primitive_of_core_is_of_a_family_of_operations():
    ours = [value for name in lax.__all__ if isinstance(value := getattr(lax, name), Primitive)]
    assert [p.name for p in ours if not p.adapted.family.startswith("calque_core.ops.")] == []


def test_the_first_look_up_imports_the_rules_of_the_family_and_later_ones_do_not(late):
    assert late.bodies == []
    assert late.primitive.adapted["chime"](3) == 6
    assert late.primitive.adapted["chime"](4) == 8
    assert late.bodies == ["late_rules.sounds"]


def test_a_table_asks_for_an_import_once(late, monkeypatch):
    asked, real = [], families.import_at_rest
    monkeypatch.setattr(families, "import_at_rest", lambda name: (asked.append(name), real(name))[1])
    table = rules("chime")
    assert [table[late.primitive](3) for _ in range(3)] == [6, 6, 6]
    assert asked == ["late_rules.sounds"]


def test_a_kind_that_the_family_lacks_is_none_and_imports_nothing(late):
    assert late.primitive.adapted["jingle"] is None
    assert late.bodies == []


def test_a_family_without_a_module_in_a_column_has_no_rules_there_and_is_looked_for_once(late, monkeypatch):
    asked, real = [], families.import_at_rest
    monkeypatch.setattr(families, "import_at_rest", lambda name: (asked.append(name), real(name))[1])
    for _ in range(2):
        other = Primitive("sight")
        other.family = other.adapted.family = "my_field.light.sights"
        assert other.adapted["chime"] is None
    assert asked == ["late_rules.light.sights"]


def test_a_module_of_rules_that_lacks_an_import_of_its_own_raises(late, tmp_path):
    (tmp_path / "late_rules" / "smells.py").write_text("import no_such_module_of_anyone")
    primitive = Primitive("smell")
    primitive.family = primitive.adapted.family = "my_field.smells"
    with pytest.raises(ModuleNotFoundError, match="no_such_module_of_anyone"):
        primitive.adapted["chime"]


def test_rules_whose_reader_is_not_installed_are_not_there(late, monkeypatch):
    rules_by_family("late_rules", kinds=["chime"], of="my_field", reader="no_such_reader")
    assert late.primitive.adapted["chime"] is None
    assert late.primitive not in list(rules("chime"))
    assert late.bodies == []
    monkeypatch.setitem(sys.modules, "no_such_reader", SimpleNamespace())
    late.primitive.adapted.drop("chime")
    assert late.primitive.adapted["chime"](3) == 6


@pytest.mark.parametrize(
    "ask",
    [
        lambda p: rules("chime")[p],
        lambda p: list(rules("chime")),
        lambda p: len(rules("chime")),
        lambda p: p.rules["chime"],
        lambda p: p.holes["knell"],
    ],
    ids=["table[p]", "list(table)", "len(table)", "p.rules", "p.holes"],
)
def test_every_way_to_ask_for_rules_imports_them(late, ask):
    assert ask(late.primitive)
    assert late.bodies == ["late_rules.sounds"]


def test_a_look_up_before_the_package_of_rules_is_declared_does_not_hide_its_rules(late):
    assert late.primitive.adapted["toll"] is None
    (module,) = [m for m in sys.path if (m and "test_a_look_up_before" in m)]
    with open(f"{module}/late_rules/sounds.py", "a") as file:  # noqa: PTH123
        file.write('primitive.def_rule("toll", lambda x: 3 * x)')
    rules_by_family("late_rules", kinds=["toll"], of="my_field")
    assert late.primitive.adapted["toll"](2) == 6


def test_a_second_rule_is_refused_with_the_places_of_both_also_before_the_first_is_imported(late):
    with pytest.raises(
        ValueError, match=r"'sound' has a rule for 'chime' from .*sounds\.py:\d+ .* and .*test_families\.py"
    ):
        late.primitive.def_rule("chime", lambda x: x)


def test_an_assignment_replaces_a_rule_that_was_not_imported_yet(late):
    rules("chime")[late.primitive] = lambda x: -x
    assert late.primitive.adapted["chime"](3) == -3
    assert late.bodies == ["late_rules.sounds"]


def test_a_rule_that_comes_late_leaves_the_programs_of_before_valid(late):
    late.primitive.def_rule("decomposition", lambda x: x)
    before = rule_epoch()
    assert late.primitive.adapted["chime"] is not None
    assert rule_epoch() == before


def test_an_interrupted_import_is_made_anew_at_the_next_look_up(late):
    def interrupt():
        late.gate = lambda: None
        raise KeyboardInterrupt

    late.gate = interrupt
    with pytest.raises(KeyboardInterrupt):
        late.primitive.adapted["chime"]
    assert late.primitive.holes == {"knell": "nobody died"}
    assert late.primitive.adapted["chime"](3) == 6
    assert late.bodies == ["late_rules.sounds"] * 2


def test_a_thread_that_asks_during_the_import_waits_for_its_end(late):
    is_inside, may_go_on = threading.Event(), threading.Event()

    def gate():
        is_inside.set()
        assert may_go_on.wait(10)

    late.gate = gate
    answers = []
    first = threading.Thread(target=lambda: answers.append(late.primitive.holes))
    first.start()
    assert is_inside.wait(10)
    second = threading.Thread(target=lambda: answers.append(late.primitive.holes))
    second.start()
    may_go_on.set()
    first.join()
    second.join()
    assert answers == [{"knell": "nobody died"}] * 2
    assert late.bodies == ["late_rules.sounds"]
