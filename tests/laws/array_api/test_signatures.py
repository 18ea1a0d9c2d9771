"""Every name of the standard exists, and takes the standard's arguments by position and by name."""

import inspect

import numpy as np
import pytest
from standard import ALL_DTYPES, ATTRIBUTES, CONSTANTS, FFT, FUNCTIONS, LINALG, METHODS

import calque_numpy as cnp
from calque_core import make_jaxpr
from calque_xla_backend import device_put

SIGNATURES = [
    *[(cnp, *row) for row in FUNCTIONS.items()],
    *[(cnp.linalg, *row) for row in LINALG.items()],
    *[(cnp.fft, *row) for row in FFT.items()],
]


# NumPy's spellings of the same default; its pinv without rtol= and rcond= takes a constant, and None as the standard.
ALSO = {
    "correction": [None],
    "norm": [None],
    "dtype": [float],
    "stable": [None],
    "rtol": [inspect.signature(cnp.linalg.pinv).parameters["rtol"].default],
}


def parameters_of(signature):
    return inspect.signature(eval(f"lambda {signature}: 0")).parameters.values()


@pytest.mark.parametrize(
    ("module", "name", "signature"), SIGNATURES, ids=[f"{module.__name__}.{name}" for module, name, _ in SIGNATURES]
)
def test_a_function_takes_the_arguments_of_the_standard(module, name, signature):
    ours = inspect.signature(getattr(module, name))
    parameters = parameters_of(signature)
    by_position = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY or p.kind is p.VAR_POSITIONAL]
    required = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty]
    either = {p.name: p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD}
    by_name = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}
    ours.bind(*by_position, *either, **by_name)
    ours.bind(*by_position, **either, **by_name)
    ours.bind(*by_position, **dict.fromkeys(required), **{n: p for n, p in by_name.items() if p.default is p.empty})


@pytest.mark.parametrize(
    ("module", "name", "signature"), SIGNATURES, ids=[f"{module.__name__}.{name}" for module, name, _ in SIGNATURES]
)
def test_a_parameter_that_is_left_out_has_the_default_of_the_standard(module, name, signature):
    ours = inspect.signature(getattr(module, name)).parameters
    for p in parameters_of(signature):
        if p.default is not p.empty and p.name in ours:
            assert ours[p.name].default in (p.default, *ALSO.get(p.name, ())), p.name


def test_the_constants_and_dtypes_of_the_standard_exist():
    assert [name for name in CONSTANTS if getattr(cnp, name) is not getattr(np, name)] == []
    assert [name for name in ALL_DTYPES if np.dtype(getattr(cnp, name)) != np.dtype(name)] == []


@pytest.mark.parametrize("form", ["a device array", "a traced array"])
def test_an_array_has_the_attributes_and_methods_of_the_standard(form):
    seen = []
    make_jaxpr(lambda x: seen.append(x) or x)(np.ones((2, 2)))
    array = device_put(np.ones((2, 2))) if form == "a device array" else seen[0]
    methods = [name for name in METHODS if not callable(getattr(type(array), name, None))]
    assert (methods, [name for name in ATTRIBUTES if not hasattr(type(array), name)]) == ([], [])
