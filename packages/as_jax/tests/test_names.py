"""The table: every module of jax that it has can be imported, and every name in it can be used."""

import importlib

import jax.numpy as jnp
import pytest

from calque_as_jax.finder import look_up, names_of
from calque_as_jax.names import ABSENT, ABSENT_MODULES, MODULES, NAMES


@pytest.mark.parametrize("path", MODULES)
def test_a_module_of_the_table_has_all_the_names_that_it_lists(path):
    module = importlib.import_module(path)
    assert module.__name__ == path
    assert [name for name in dir(module) if not hasattr(module, name)] == []
    assert set(dir(module)) == names_of(path)


@pytest.mark.parametrize("full", NAMES)
def test_a_name_that_is_elsewhere_is_there(full):
    assert look_up(*full.rpartition(".")[::2]) is not None


@pytest.mark.parametrize("full", [name for name in ABSENT if name.rpartition(".")[0] in MODULES])
def test_an_absent_name_says_why_and_what_to_do(full):
    path, _, name = full.rpartition(".")
    module = importlib.import_module(path)
    assert not hasattr(module, name)
    with pytest.raises(AttributeError, match=f"calque has no '{full}'. [A-Z].*\\.$"):
        getattr(module, name)
    with pytest.raises(ImportError, match=f"calque has no '{full}'. [A-Z].*\\.$"):
        exec(f"from {path} import {name}")


@pytest.mark.parametrize("path", ABSENT_MODULES)
def test_an_absent_module_says_why_and_what_to_do(path):
    with pytest.raises(ModuleNotFoundError, match=f"calque has no '{path}'. [A-Z].*\\.$"):
        importlib.import_module(path)


def test_a_misspelt_name_gets_the_nearest_one():
    with pytest.raises(AttributeError, match=r"calque has no 'jax.numpy.arrange'. Did you mean 'arange'\?"):
        _ = jnp.arrange


def test_no_name_is_both_there_and_absent():
    assert set(ABSENT) & set(NAMES) == set()
    assert set(ABSENT_MODULES) & set(MODULES) == set()
