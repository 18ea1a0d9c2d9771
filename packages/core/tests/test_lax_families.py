"""Without a family's package, its names of `calque_core.lax` say what to install; under it, they are its names."""

import sys

import pytest

from calque_core import lax

PLACES = {"linalg": ("calque_linalg", "calque-linalg")}  # a name of lax: its module, and the package to install


@pytest.mark.parametrize("name", PLACES)
def test_a_name_of_an_absent_family_says_what_to_install(name, monkeypatch):
    module, package = PLACES[name]
    monkeypatch.delitem(vars(lax), name, raising=False)
    monkeypatch.setitem(sys.modules, module, None)  # Python's way to say that it is not there
    with pytest.raises(ModuleNotFoundError) as caught:
        getattr(lax, name)
    assert str(caught.value) == (
        f"calque_core.lax.{name} needs the package {package}. Install it: pip install {package}."
    )
    assert name not in vars(lax)


@pytest.mark.parametrize("name", PLACES)
def test_the_names_of_an_absent_family_are_not_listed(name, monkeypatch):
    monkeypatch.delitem(vars(lax), name, raising=False)
    monkeypatch.setitem(sys.modules, PLACES[name][0], None)
    assert name not in dir(lax)
    with pytest.raises(AttributeError, match=r"Its names are in calque_core\.lax\.__all__\."):
        getattr(lax, f"{name}z")
