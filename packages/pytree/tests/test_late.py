import math
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import pytest

from calque_pytree import late_names
from calque_pytree.late import late_function


def test_a_late_name_is_that_of_its_module_and_is_found_without_the_function_afterwards(monkeypatch):
    package = ModuleType("late_package")
    package.__getattr__, package.__dir__ = late_names("late_package", {"math": "pi, tau as whole_turn"})
    monkeypatch.setitem(sys.modules, "late_package", package)

    assert {"pi", "whole_turn"} <= set(dir(package))
    assert "whole_turn" not in vars(package)
    assert package.whole_turn == math.tau
    assert vars(package)["whole_turn"] == math.tau
    with pytest.raises(AttributeError, match=r"late_package has no attribute 'pie'\. Its names are in late_package\."):
        package.pie


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


def test_a_late_function_is_that_of_its_module():
    assert late_function("math", "sqrt")(4.0) == 2.0


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
