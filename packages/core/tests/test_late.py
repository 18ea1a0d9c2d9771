from __future__ import annotations

import math
import sys
from types import ModuleType

import pytest

from calque_core import Trace, config, current_trace, evaluation, lax, tracing
from calque_core.late import import_at_rest, late_chapters, late_function, late_names


@pytest.fixture
def package(monkeypatch):
    """A package with three late names."""
    module = ModuleType("late_package")
    module.__getattr__, module.__dir__ = late_names(
        "late_package", {"math": "pi, tau as whole_turn", "late_package": "part"}
    )
    monkeypatch.setitem(sys.modules, "late_package", module)
    return module


@pytest.fixture
def module_of(tmp_path, monkeypatch):
    """Write a module of this text, which an import finds; return its name."""

    def write(text):
        (tmp_path / "late_module_of_test.py").write_text(text)
        return "late_module_of_test"

    monkeypatch.syspath_prepend(tmp_path)
    yield write
    sys.modules.pop("late_module_of_test", None)


def test_a_late_name_is_that_of_its_module_and_is_found_without_the_function_afterwards(package):
    assert "whole_turn" not in vars(package)
    assert package.whole_turn == math.tau
    assert vars(package)["whole_turn"] == math.tau


def test_a_late_name_can_be_a_module_of_the_package(package, monkeypatch):
    part = ModuleType("late_package.part")
    monkeypatch.setitem(sys.modules, "late_package.part", part)
    assert package.part is part


def test_dir_lists_late_names_before_their_first_use(package):
    assert {"pi", "whole_turn", "part", "__name__"} <= set(dir(package))


def test_an_unknown_name_is_an_attribute_error_that_names_the_package_and_its_list(package):
    with pytest.raises(AttributeError, match=r"late_package has no attribute 'qqq'\. Its names are in late_package\."):
        package.qqq


def test_another_function_answers_for_other_names():
    get, _ = late_names("another_package", {"math": "pi"}, missing=lambda name: f"no {name}")
    assert get("pi") == math.pi
    assert get("pie") == "no pie"


def test_chapters_are_imported_at_rest_with_advice_about_unknown_names(module_of):
    name = module_of("from calque_core import current_trace\nseen = current_trace()\n")
    chapters = {"traces": {name: "seen"}, "numbers": {"math": "pi, tau as whole_turn"}}
    get, names, public = late_chapters("calque_core.part", chapters, unlisted={"math": "e"})
    with tracing(Trace(current_trace())):
        assert get("seen") is evaluation
    assert public == ["seen", "pi", "whole_turn"]
    assert names() == ["e", "pi", "seen", "whole_turn"]
    with pytest.raises(AttributeError, match=r"calque_core\.part has no attribute 'vmap'\. Use calque_batching\.vmap"):
        get("vmap")


def test_the_function_that_adapts_values_is_given_by_keyword():
    get, _ = late_names("another_package", {"math": "pi"}, adapt=lambda package, name, value: (package, name, value))
    assert get("pi") == ("another_package", "pi", math.pi)
    with pytest.raises(TypeError, match="from 2 to 3 positional arguments but 4 were given"):
        late_names("another_package", {"math": "pi"}, None, lambda package, name, value: value)


def test_a_module_is_imported_at_rest_whatever_traces_and_whichever_settings_hold(module_of):
    name = module_of("from calque_core import config, current_trace\nseen = current_trace(), config.current()\n")
    default = config.current()

    class Refuses(Trace):
        def process_primitive(self, primitive, args, params):
            raise AssertionError(f"{primitive} was bound")

    with tracing(Refuses(current_trace())), config.enable_x64(False):
        seen = import_at_rest(name).seen

    assert seen == (evaluation, default)


def test_the_package_of_a_module_is_imported_first(monkeypatch):
    """Another thread that imports the package waits for none of its modules that this thread has locked."""
    imported = []
    monkeypatch.setattr("calque_core.late.import_module", imported.append)
    import_at_rest("package.inner.module")
    import_at_rest("package")
    assert imported == ["package.inner", "package.inner.module", "package"]


@pytest.mark.parametrize("module", ["calque_of_the_sea", "calque_of_the_sea.tides"])
def test_a_late_function_of_an_absent_package_says_how_to_install_it(module):
    high = late_function(module, "high")
    words = rf"{module}\.high needs the package calque-of-the-sea\. Install it: pip install calque-of-the-sea\."
    with pytest.raises(ModuleNotFoundError, match=words):
        high()


def test_a_late_function_whose_module_lacks_an_import_of_its_own_names_that(module_of):
    name = module_of("import calque_of_the_sea")
    with pytest.raises(ModuleNotFoundError, match="No module named 'calque_of_the_sea'"):
        late_function(name, "ask")()


def test_a_late_function_is_imported_at_rest_at_its_first_call(module_of):
    name = module_of("from calque_core import current_trace\nseen = current_trace()\ndef ask():\n    return seen\n")
    ask = late_function(name, "ask")
    assert name not in sys.modules

    with tracing(Trace(current_trace())):
        assert ask() is evaluation


def test_a_module_that_is_not_installed_is_an_error_of_the_import():
    with pytest.raises(ModuleNotFoundError, match="module_that_nobody_wrote"):
        import_at_rest("module_that_nobody_wrote")


def test_a_module_that_is_loaded_is_found_without_a_block(monkeypatch):
    entered = []
    monkeypatch.setattr("calque_core.late.entered", lambda *args, **options: entered.append(args))
    with tracing(Trace(current_trace())):
        assert import_at_rest("math") is math
    assert entered == []


@pytest.mark.parametrize(
    ("name", "package"), [("digamma", "calque-special"), ("fft", "calque-signal"), ("linalg", "calque-linalg")]
)
def test_an_operation_of_a_family_that_is_not_installed_says_how_to_install_it(name, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package.replace("-", "_"), None)
    monkeypatch.delitem(vars(lax), name, raising=False)
    words = rf"calque_core\.lax\.{name} needs the package {package}\. Install it: pip install {package}\."
    with pytest.raises(ModuleNotFoundError, match=words):
        getattr(lax, name)
