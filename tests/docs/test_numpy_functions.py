"""Every function of NumPy exists here or has its reason, and the page says which."""

import numpy_functions
import pytest

import calque.numpy
import calque_numpy as cnp
from calque_numpy.missing import DIFFERENT, MISSING


def test_every_function_of_numpy_is_there_or_has_its_reason():
    absent = [name for name in numpy_functions.functions_of_numpy() if name not in cnp.__all__]
    assert [name for name in absent if name not in MISSING] == []
    assert [name for name in MISSING if name in cnp.__all__] == []
    assert [name for name in DIFFERENT if name not in cnp.__all__] == []


@pytest.mark.parametrize("name", numpy_functions.MODULES)
def test_every_function_of_a_module_of_numpy_is_there(name):
    theirs, ours = numpy_functions.MODULES[name]
    assert [
        function for function in numpy_functions.functions_of(theirs, theirs.__all__) if not hasattr(ours, function)
    ] == []


def test_the_page_is_made_from_the_tables():
    advice = "Run `python tests/docs/numpy_functions.py`."
    assert numpy_functions.PAGE.read_text(encoding="utf-8") == numpy_functions.page(), advice


@pytest.mark.parametrize("module", [cnp, calque.numpy], ids=lambda module: module.__name__)
def test_a_missing_name_gives_its_reason_or_a_similar_name(module):
    name = module.__name__
    with pytest.raises(AttributeError, match=f"{name} has no attribute 'isfortran': it concerns the memory of an"):
        module.isfortran
    with pytest.raises(AttributeError, match=rf"{name} has no attribute 'concatinate'\. Did you mean 'concatenate'\?$"):
        module.concatinate
    with pytest.raises(AttributeError, match=rf"{name} has no attribute 'qqq'\. Its names are in {name}\.__all__\.$"):
        module.qqq
    assert not hasattr(module, "qqq")
