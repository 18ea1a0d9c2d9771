"""Properties of tracers are known while tracing, and no tracer hides a method of arrays behind a field of its own."""

import numpy as np
import pytest

from calque_core import ArrayMethods, Tracer, stage, typeof

X = np.zeros((2, 3, 4), np.float32)


def refused(fun, x, error=TypeError):
    with pytest.raises(error) as caught:
        stage(lambda a: [fun(a)], [typeof(x)])
    return str(caught.value)


@pytest.mark.parametrize("name", ["shape", "dtype", "ndim", "size", "itemsize", "nbytes"])
def test_a_property_is_the_arrays(name):
    for x in (X, np.float64(1), np.zeros((0, 2), np.int8)):
        seen = []
        stage(lambda a, seen=seen: seen.append(getattr(a, name)) or [a], [typeof(x)])
        assert seen == [getattr(x, name)]


def test_the_shapes_of_transposed_arrays_are_numpys():
    seen = []
    stage(lambda a: seen.extend([a.T.shape, a.mT.shape]) or [a], [typeof(X)])
    assert seen == [X.T.shape, X.mT.shape]


def test_a_vector_has_no_matrix_transpose():
    words = refused(lambda a: a.mT, np.zeros(3), error=ValueError)
    assert words.startswith("mT of f64[3] at test_methods.py:")
    assert words.endswith("it takes two axes or more. Use x.T instead.")


@pytest.mark.parametrize("name", ["real", "imag", "conj", "conjugate"])
def test_the_parts_of_a_complex_array_are_refused(name):
    words = refused(
        lambda a: np.asarray(getattr(a, name)() if name.startswith("conj") else getattr(a, name)), np.zeros(3, complex)
    )
    assert words.startswith(f"{name} of c128[3] at test_methods.py:")
    assert words.endswith("not defined for c128. Convert the operand first.")


def test_sorting_in_place_is_refused_with_what_to_call():
    words = refused(lambda a: a.sort(), X)
    assert words.startswith("x.sort() at test_methods.py:")
    assert words.endswith("would change a traced array or a device array in place. Use numpy.sort(x).")


def subclasses(cls):
    return [cls, *(deeper for below in cls.__subclasses__() for deeper in subclasses(below))]


def test_no_tracer_hides_a_method_of_arrays():
    public = [name for name in vars(ArrayMethods) if not name.startswith("_")]
    hidden = [
        (cls.__name__, name)
        for cls in subclasses(Tracer)
        if cls.__module__.startswith("calque_")
        for name in public
        if name in vars(cls)
    ]
    assert len(public) > 30
    assert hidden == []


@pytest.mark.parametrize("name", [name for name in vars(ArrayMethods) if not name.startswith("_")])
def test_every_method_is_one_of_numpys(name):
    assert hasattr(np.ndarray, name)
