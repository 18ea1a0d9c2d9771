"""Lowering of branches by platform: a module holds the branch of its platform alone."""

import numpy as np
import pytest

import calque_xla_backend as backend
from calque_core import Primitive, lax, make_jaxpr

elsewhere_p = Primitive("elsewhere")
elsewhere_p.def_abstract_eval(lambda x: x.strip_weak_type())


def choose(x):
    return lax.platform_dependent(x, cpu=lambda x: lax.mul(lax.sin(x), 2.0), tpu=elsewhere_p.bind, default=lax.cos)


def test_a_compiled_program_runs_the_branch_of_the_cpu():
    x = np.linspace(0.0, 1.0, 5)
    np.testing.assert_allclose(backend.jit(choose)(x), choose(x), rtol=1e-15)


def test_device_arrays_take_the_branch_of_their_platform():
    x = backend.device_put(np.linspace(0.0, 1.0, 5))
    out = choose(x)
    assert isinstance(out, backend.Array)
    np.testing.assert_allclose(out, 2.0 * np.sin(np.asarray(x)), rtol=1e-15)


@pytest.mark.parametrize(("platform", "operation", "absent"), [("cpu", "sine", "cosine"), ("cuda", "cosine", "sine")])
def test_a_module_holds_the_branch_of_its_platform_alone(platform, operation, absent):
    text = str(backend.lower_jaxpr_to_module(make_jaxpr(choose)(0.5), platform=platform).module)
    assert f"stablehlo.{operation}" in text
    assert f"stablehlo.{absent}" not in text
    assert "stablehlo.case" not in text


def test_a_platform_without_a_branch_is_refused():
    with pytest.raises(ValueError, match=r"no function for the platform 'cpu', and no default"):
        backend.jit(lambda x: lax.platform_dependent(x, tpu=lax.sin))(0.5)
