"""Properties of tracers are known while tracing, and no tracer hides a method of arrays behind a field of its own."""

import numpy as np
import pytest

from calque_core import ArrayMethods, Tracer, eval_jaxpr, stage, typeof

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
    assert words.startswith("mT of float64[3] at test_methods.py:")
    assert words.endswith("the array must have at least two axes. Use x.T instead.")


@pytest.mark.parametrize("x", [np.array([1 + 2j, -3j]), np.complex64(1 - 2j), X, np.array([1, -2]), np.array([True])])
def test_the_parts_and_the_conjugate_are_numpys(x):
    def parts(m, a):
        return [a.real, a.imag, a.conj(), a.conjugate(), m.real(a), m.imag(a)]

    jaxpr = stage(lambda a: parts(np, a), [typeof(x)])
    for got, want in zip(eval_jaxpr(jaxpr, jaxpr.consts, x), parts(np, x), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_sorting_in_place_is_refused_with_what_to_call():
    words = refused(lambda a: a.sort(), X)
    assert words.startswith("x.sort() at test_methods.py:")
    assert words.endswith("would change a traced array or a device array in place. Use numpy.sort(x).")


IN_PLACE = {
    "add.at": (
        lambda x: np.add.at(x, [0], 1.0),
        r"numpy\.add\.at at .* would change a traced .* in place\. Use x\.at\[index\]\.add\(value\)\.",
    ),
    "view": (
        lambda x: x.view(np.matrix),
        r"x\.view\(matrix\) at .*: a traced array has no class of NumPy's\. Remove the call\.",
    ),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_what_only_numpys_arrays_do_is_refused_with_what_to_write(name):
    function, words = IN_PLACE[name]
    with pytest.raises(TypeError, match=words):
        stage(lambda x: [function(x)], [typeof(np.ones(3))])


def subclasses(cls):
    return [cls, *(deeper for below in cls.__subclasses__() for deeper in subclasses(below))]


def test_no_tracer_hides_a_method_of_arrays():
    public = [name for name in vars(ArrayMethods) if not name.startswith("_")]
    hidden = [
        (cls.__name__, name)
        for cls in subclasses(Tracer)
        if cls.__module__.startswith("calque_")
        for name in public
        if name in vars(cls) and getattr(vars(cls)[name], "__wrapped__", None) is not vars(ArrayMethods)[name]
    ]
    assert len(public) > 30
    assert hidden == []


OURS = ("at", "weak_type")


@pytest.mark.parametrize("name", [name for name in vars(ArrayMethods) if not name.startswith("_") and name not in OURS])
def test_every_method_is_one_of_numpys(name):
    assert hasattr(np.ndarray, name)
