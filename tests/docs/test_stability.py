"""The stable floor keeps its names: one that goes warns for a minor release, and says its new name.

The names of the floor at each minor release are a file, `floor/<minor>.txt`, written once, at the release.
"""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path

import pytest

FLOOR = ("calque_pytree", "calque_core.extend")
RELEASES = sorted((Path(__file__).parent / "floor").glob("*.txt"))


def missing_names(promised: list[str]) -> list[str]:
    """Return the promised names, with their modules, that have no value any more, not even a deprecated one."""
    missing = []
    for path in promised:
        module, _, name = path.rpartition(".")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                getattr(importlib.import_module(module), name)
            except AttributeError:
                missing.append(path)
    return missing


def test_the_floor_has_every_name_that_the_last_minor_release_had():
    assert missing_names(RELEASES[-1].read_text(encoding="utf-8").split()) == []


def test_a_file_of_a_release_names_the_whole_floor():
    names = RELEASES[0].read_text(encoding="utf-8").split()
    assert {name.rpartition(".")[0] for name in names} == set(FLOOR)
    assert len(names) > 100


def test_a_name_that_was_removed_without_a_deprecation_fails(monkeypatch):
    extend = importlib.import_module("calque_core.extend")
    assert missing_names(["calque_core.extend.gone"]) == ["calque_core.extend.gone"]
    monkeypatch.setattr(extend, "gone", extend.defjvp, raising=False)
    assert missing_names(["calque_core.extend.gone"]) == []


@pytest.mark.parametrize("module", FLOOR)
def test_a_deprecated_name_is_not_listed(module):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for name in importlib.import_module(module).__all__:
            getattr(importlib.import_module(module), name)
    assert [str(warning.message) for warning in seen] == []
