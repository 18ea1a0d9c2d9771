"""What to install: the commands in messages, and another author's package in the place of the facade."""

from __future__ import annotations

import sys

import pytest

from calque_core import distributions, lax, make_jaxpr
from calque_core.distributions import FACADE, distribution_of, facade_fault, install_advice, install_command


@pytest.fixture
def installed(monkeypatch):
    """Return a function that makes these packages, by name and version, the owners of the module `calque`."""

    def install(**versions):
        names = {name.replace("_", "-"): version for name, version in versions.items()}
        monkeypatch.setattr(distributions, "_packages_distributions", lambda: {"calque": [*names]})
        monkeypatch.setattr(distributions, "_version", names.get)
        facade_fault.cache_clear()

    yield install
    facade_fault.cache_clear()


def test_each_package_has_the_name_of_its_module_but_the_facade():
    assert distribution_of("calque_xla_backend.verbs.jit") == "calque-xla-backend"
    assert distribution_of("calque.numpy") == FACADE == "calque-transforms"


def test_a_command_quotes_an_extra_for_every_shell():
    assert install_command("calque", "xla") == 'pip install "calque-transforms[xla]"'
    assert install_command("calque_numpy") == "pip install calque-numpy"


def test_without_a_stranger_the_advice_is_one_sentence(installed):
    installed(calque_transforms="0.1.0")
    assert facade_fault() is None
    assert install_advice("calque_numpy") == "Install it: pip install calque-numpy."


def test_another_authors_package_in_the_place_of_the_facade_is_named(installed):
    installed(calque="0.3.0")
    fault = (
        "The installed package calque 0.3.0 is another author's, and has the module calque in place of "
        "calque-transforms. Remove it: pip uninstall calque."
    )
    assert facade_fault() == fault
    assert install_advice("calque", "xla") == f'Install it: pip install "calque-transforms[xla]". {fault}'


def test_a_stranger_beside_the_facade_has_replaced_files_of_it(installed):
    installed(calque_transforms="0.1.0", calque="0.3.0")
    assert facade_fault() == (
        "The installed package calque 0.3.0 is another author's, and has the module calque in place of "
        "calque-transforms. Remove it: pip uninstall calque; then pip install --force-reinstall --no-deps "
        "calque-transforms."
    )


def test_several_strangers_are_named_at_once(installed):
    installed(calque="0.3.0", calque_calendar="1.0")
    assert facade_fault() == (
        "The installed package calque 0.3.0, calque-calendar 1.0 are other authors', and have the module calque in "
        "place of calque-transforms. Remove it: pip uninstall calque calque-calendar."
    )


def test_the_messages_about_missing_pieces_name_the_stranger(installed, monkeypatch):
    installed(calque="0.3.0")
    monkeypatch.setitem(sys.modules, "calque_numpy", None)  # as if it were not installed
    with pytest.raises(
        ModuleNotFoundError, match=r"pip install calque-numpy\. The installed package calque 0\.3\.0 is"
    ):
        make_jaxpr(lambda x: x.__array_namespace__())(1.0)
    with pytest.raises(AttributeError, match=r"calque-sparse\)\. The installed package calque 0\.3\.0 is another"):
        lax.hessian
