import subprocess
import sys

import numpy as np
import pytest

from calque_core import ArrayMethods, Tracer, eval_jaxpr, make_jaxpr
from calque_core.types.array_methods import array_method, array_property


@pytest.fixture
def method_names():
    before = set(vars(ArrayMethods))
    yield
    for name in set(vars(ArrayMethods)) - before:
        delattr(ArrayMethods, name)


def test_a_method_reaches_every_array_class_under_its_own_name(method_names):
    @array_method
    def twice(self):
        return self + self

    class MyArray(ArrayMethods):
        __slots__ = ()

        def __add__(self, other):
            return "sum"

    assert MyArray().twice() == "sum"
    assert str(make_jaxpr(lambda x: x.twice())(1.0)) == "{ lambda ; a:f64[]. let b:f64[] = add a a in (b,) }"
    assert twice.__name__ == "twice"


def test_a_property_is_read_only_and_stays_a_function_for_its_module(method_names):
    @array_property
    def rank(self):
        return len(self.shape)

    def fun(x):
        assert x.rank == rank(x) == 2
        x.rank = 3

    with pytest.raises(AttributeError):
        make_jaxpr(fun)(np.ones((2, 2)))


def test_the_class_costs_its_subclasses_no_dict():
    assert ArrayMethods.__slots__ == ()
    assert issubclass(Tracer, ArrayMethods)


def test_arrays_come_before_numpys_own_in_binary_operations():
    jaxpr = make_jaxpr(lambda x: np.ones(2) + x)(1.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["add"]


@pytest.mark.parametrize(
    "program",
    [
        "from calque_core import make_jaxpr; make_jaxpr(lambda x: (2 * x).sum() + numpy.sin(x)[0])(numpy.ones(3))",
        "from calque_core import lax; lax.scan(lambda c, x: (c + x.sum(), c), 0.0, numpy.ones((2, 3)))",
        "from calque_core import Tracer; Tracer.sum, Tracer.__getitem__, Tracer.__iadd__",
        "from calque_core import ArrayMethods; ArrayMethods.sum, ArrayMethods.__array_ufunc__",
        "from calque_core.engine import ArrayOperations; ArrayOperations.sum",
        "from calque_core import ValueTracer; ValueTracer.sum",
    ],
)
def test_the_first_array_has_its_methods_by_whichever_name_the_program_reaches_it(program):
    before = "import sys, numpy, calque_core; assert 'calque_core.arrays' not in sys.modules; "
    subprocess.run([sys.executable, "-c", before + program], check=True)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "max", "min", "any", "all"])
def test_a_method_takes_a_list_of_axes(name):
    x = np.arange(24.0).reshape(2, 3, 4)
    method = lambda x, *args, **options: getattr(x, name)(*args, **options)
    expected = getattr(np, name)(x, axis=(0, 2))
    for call in (lambda x: method(x, [0, 2]), lambda x: method(x, axis=[0, 2])):
        jaxpr = make_jaxpr(call)(x)
        assert np.allclose(eval_jaxpr(jaxpr, jaxpr.consts, x)[0], expected)
