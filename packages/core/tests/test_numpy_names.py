import numpy as np
import pytest

from calque_core.arrays.numpy_names import METHODS, function_named, function_names, ufunc_method, ufunc_names
from calque_core.arrays.numpy_protocol import declared, implementation


@pytest.mark.parametrize("name", function_names())
def test_a_function_of_the_table_is_the_one_that_implements_numpys_of_that_name(name):
    function = function_named(name)
    assert declared[getattr(np, name)] is function


def test_the_table_has_all_functions_that_core_implements():
    listed = {function_named(name) for name in function_names()}
    of_numpy = {function for theirs, function in declared.items() if getattr(theirs, "__module__", None) == "numpy"}
    assert {function for function in of_numpy if function.__module__.startswith("calque_core.")} == listed


def test_the_table_of_ufuncs_has_the_names_of_numpys_ufuncs():
    assert len(ufunc_names()) > 70
    for name in ufunc_names():
        assert isinstance(getattr(np, name), np.ufunc)
        assert callable(implementation(getattr(np, name)))


@pytest.mark.parametrize("name", next(iter(METHODS.values())).split(", "))
def test_a_method_of_the_table_is_a_function_of_the_ufunc(name):
    assert ufunc_method(name).__name__ == name
