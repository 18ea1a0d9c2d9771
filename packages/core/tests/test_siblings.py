"""Names of sibling packages: the error about a missing name says which package has it."""

from __future__ import annotations

import re

import pytest

import calque_core
from calque_core import lax
from calque_core.siblings import sibling_advice


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        (calque_core, "vmap", "Use calque_batching.vmap (pip install calque-batching)."),
        (calque_core, "jit", "Use calque_xla_backend.jit (pip install calque-xla-backend)."),
        (
            calque_core,
            "hessian",
            "Use calque.hessian (pip install calque-transforms) or calque_sparse.hessian (pip install calque-sparse).",
        ),
        (calque_core, "tree_map", "Use calque_pytree.tree_map (pip install calque-pytree)."),
        (lax, "grad", "Use calque_autodiff.grad (pip install calque-autodiff)."),
        # What the package itself has in another module needs no command.
        (lax, "make_jaxpr", "Use calque_core.make_jaxpr."),
        (calque_core, "sin", "Use calque_core.lax.sin or calque_numpy.sin (pip install calque-numpy)."),
    ],
)
def test_an_attribute_error_says_which_package_has_the_name(module, name, advice):
    words = f"^{module.__name__} has no attribute '{name}'. {advice}"
    with pytest.raises(AttributeError, match=re.escape(words).replace(r"\^", "^", 1)) as caught:
        getattr(module, name)
    assert caught.value.name == name


def test_a_name_that_no_package_has_gets_the_most_similar_one():
    with pytest.raises(
        AttributeError, match=r"^calque_core has no attribute 'make_jaxprs'\. Did you mean 'make_jaxpr'"
    ):
        calque_core.make_jaxprs


def test_a_package_of_another_author_gets_no_advice():
    assert sibling_advice("stencil", "vmap") is None
    get, _ = calque_core.engine.late_names("stencil", {"math": "pi"})
    with pytest.raises(
        AttributeError, match=r"^stencil has no attribute 'vmap'\. Its names are in stencil\.__all__\.$"
    ):
        get("vmap")
