import math
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from unittest import mock

import pytest

from calque_pytree import late_chapters, late_names
from calque_pytree.late import late_function


def test_a_late_name_is_that_of_its_module_and_is_found_without_the_function_afterwards(monkeypatch):
    package = ModuleType("late_package")
    package.__getattr__, package.__dir__ = late_names("late_package", {"math": "pi, tau as whole_turn"})
    monkeypatch.setitem(sys.modules, "late_package", package)

    assert {"pi", "whole_turn"} <= set(dir(package))
    assert "whole_turn" not in vars(package)
    assert package.whole_turn == math.tau
    assert vars(package)["whole_turn"] == math.tau
    with pytest.raises(AttributeError, match=r"late_package has no attribute 'qqq'\. Its names are in late_package\."):
        package.qqq


def test_the_caller_may_import_the_modules_by_a_function_of_its_own():
    asked = []

    def load(module):
        asked.append(module)
        return math

    get, _ = late_names("late_package", {"somewhere": "pi"}, load=load)
    assert get("pi") == math.pi
    assert asked == ["somewhere"]


def test_all_threads_that_ask_at_once_get_one_adapted_value(monkeypatch):
    start, made = threading.Barrier(2), []

    def load(module):
        start.wait()  # both threads have missed the name
        return math

    def adapt(package, name, value):
        made.append([package, name, value])
        return made[-1]

    package = ModuleType("late_package")
    package.__getattr__, _ = late_names("late_package", {"somewhere": "pi"}, adapt=adapt, load=load)
    monkeypatch.setitem(sys.modules, "late_package", package)
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda _: package.pi, range(2))
    assert made == [["late_package", "pi", math.pi]] * 2
    assert first is second is package.pi


def test_a_second_package_has_the_value_of_the_first_also_while_a_test_replaces_the_name(monkeypatch):
    first, second = ModuleType("late_package"), ModuleType("late_second")
    for package, names in ((first, {"math": "pi"}), (second, {"late_package": "pi as half_turn, own"})):
        package.__getattr__, _ = late_names(package.__name__, names)
        monkeypatch.setitem(sys.modules, package.__name__, package)
    first.own = 1
    with mock.patch.object(first, "pi", 3):
        assert first.pi == 3
        assert second.half_turn == math.pi
    assert first.pi is second.half_turn is math.pi
    assert second.own == 1


def test_a_name_has_one_adapted_value_also_after_a_test_has_replaced_it(monkeypatch):
    package = ModuleType("late_package")
    package.__getattr__, _ = late_names("late_package", {"math": "pi"}, adapt=lambda *value: [*value])
    monkeypatch.setitem(sys.modules, "late_package", package)
    before = package.pi
    del package.pi
    assert package.pi is before


def test_an_unknown_name_is_an_error_with_the_most_similar_name():
    get, _ = late_names("late_package", {"math": "pi, tau as whole_turn, _private"})
    words = r"^late_package has no attribute 'whole_trun'\. Did you mean 'whole_turn'\?$"
    with pytest.raises(AttributeError, match=words):
        get("whole_trun")
    for unknown in ("qqq", "__whole_turn__", "privat", "_privat"):
        with pytest.raises(AttributeError, match=rf"has no attribute '{unknown}'\. Its names are in late_package\."):
            get(unknown)


def test_another_function_gives_attributes_or_none():
    get, _ = late_names("late_package", {"math": "pi"}, {"answer": 42}.get)
    assert get("answer") == 42
    with pytest.raises(AttributeError, match=r"late_package has no attribute 'answers'\. Its names"):
        get("answers")


def test_chapters_give_the_names_once_and_their_list():
    chapters = {"constants": {"math": "pi, tau as whole_turn", "cmath": "inf"}, "functions": {"math": "sqrt"}}
    get, names, public = late_chapters(
        "late_package", chapters, {"answer": 42}.get, unlisted={"math": "floor as whole"}
    )
    assert public == ["pi", "whole_turn", "inf", "sqrt"]
    assert names() == ["inf", "pi", "sqrt", "whole", "whole_turn"]
    assert [get(name) for name in ("whole_turn", "inf", "answer")] == [math.tau, math.inf, 42]
    assert get("sqrt") is math.sqrt
    assert get("whole") is math.floor
    assert late_chapters("late_package", {})[2] == []


def test_a_deprecated_name_warns_with_the_new_name_and_has_its_value(monkeypatch):
    package = ModuleType("late_package")
    monkeypatch.setitem(sys.modules, "late_package", package)
    package.__getattr__, package.__dir__, package.__all__ = late_chapters(
        "late_package", {"numbers": {"math": "pi"}}, deprecated={"half_turn": "pi"}
    )
    expected = "late_package.half_turn is deprecated and goes with the next minor release. Use late_package.pi."
    with pytest.warns(DeprecationWarning, match=expected) as seen:
        assert package.half_turn == math.pi
    assert seen[0].filename == __file__  # the line that uses the name
    assert dir(package)[-1:] == ["pi"]
    assert "half_turn" not in package.__all__


def test_a_star_import_takes_the_names_of_chapters(monkeypatch):
    package = ModuleType("late_package")
    chapters = {"": {"math": "pi, tau as whole_turn"}}
    package.__getattr__, _, package.__all__ = late_chapters("late_package", chapters, unlisted={"math": "e"})
    monkeypatch.setitem(sys.modules, "late_package", package)
    taken = {}
    exec("from late_package import *", taken)
    assert taken.keys() - {"__builtins__"} == {"pi", "whole_turn"}


def test_a_late_function_is_that_of_its_module():
    assert late_function("math", "sqrt")(4.0) == 2.0
    assert late_function("math", "isclose")(1.0, 1.5, abs_tol=0.5)
    assert late_function("math", "isclose").__name__ == late_function("math", "isclose").__qualname__ == "isclose"


FREQUENT = """
import sys
from calque_pytree import tree_flatten
for count in (15, 1):
    for _ in range(count):
        tree_flatten({"a": [1]})
    print("calque_pytree.descent" in sys.modules)
"""


def test_the_modules_that_write_code_are_imported_for_a_frequent_structure():
    done = subprocess.run([sys.executable, "-c", FREQUENT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_an_unknown_name_of_the_package_is_an_import_error():
    done = subprocess.run(
        [sys.executable, "-c", "from calque_pytree import tree_flattened"], capture_output=True, text=True, check=False
    )
    assert "ImportError: cannot import name 'tree_flattened'" in done.stderr
