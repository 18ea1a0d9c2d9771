"""Every public function on every dtype: NumPy, a compiled program and device arrays give one answer.

The calls are in `calls_of_numpy.py`, `calls_of_scipy.py` and `calls_of_lax.py`, the exceptions in `other_answers.py`.
"""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from calls import DTYPES
from calls_of_lax import EXCLUDED_OF_LAX, LAX, LAX_LINALG
from calls_of_numpy import EXCLUDED, FFT, LINALG, NUMPY
from calls_of_scipy import NN, SCIPY_LINALG, SPECIAL, STATS
from evaluators import OPERANDS, differences, operands_of, what_is_wrong
from other_answers import EXEMPT

TABLES = {
    "calque.numpy": NUMPY,
    "calque.numpy.linalg": LINALG,
    "calque.numpy.fft": FFT,
    "calque.scipy.special": SPECIAL,
    "calque.scipy.linalg": SCIPY_LINALG,
    "calque.scipy.stats": STATS,
    "calque.nn": NN,
    "calque.lax": LAX,
    "calque.lax.linalg": LAX_LINALG,
}
WITHOUT_ROWS = {**EXCLUDED, **EXCLUDED_OF_LAX}
FUNCTIONS = [f"{module}.{name}" for module, table in TABLES.items() for name in table]


def functions_of(module):
    """Return the names of the public functions of a module."""
    owner = importlib.import_module(module)
    values = {name: getattr(owner, name) for name in owner.__all__}
    return {name for name, value in values.items() if callable(value) and not isinstance(value, type)}


@pytest.mark.parametrize("module", TABLES)
def test_each_function_has_a_row_or_a_reason(module):
    names = functions_of(module)
    assert not names - TABLES[module].keys() - WITHOUT_ROWS.keys(), "give these functions a row"
    assert not TABLES[module].keys() - names, "these rows have no function"


def test_each_exception_names_functions_of_the_tables():
    names = {name for table in TABLES.values() for name in table}
    assert not {name for exempt in EXEMPT for name in exempt.names.split()} - names


def test_refusals_are_compared_by_their_first_sentence_without_its_place():
    first = what_is_wrong(ValueError("pad at a.py:3 (f): the mode 1.5 is unknown. Use 'wrap'."))
    assert first == what_is_wrong(ValueError("pad at <stdin>:7 (<lambda>): the mode 1.5 is unknown. Use another."))
    assert first != what_is_wrong(ValueError("pad at a.py:3 (f): the mode 2.5 is unknown. Use 'wrap'."))


def test_a_difference_knows_the_operands_at_its_place():
    x = np.array([1.5, 0.0, np.inf, 2.0])
    z = np.array([1 + 1j, 1j, 1 + 2j, complex(1, np.nan)])
    kinds = [OPERANDS[kind] for kind in operands_of([x, z, np.arange(4)], (4,))]
    assert kinds == ["ordinary", "zero", "infinite", "infinite"]
    assert OPERANDS[operands_of([x, z], ()).item()] == "infinite"
    assert OPERANDS[operands_of([x[:2], z[:2]], (2, 2))[0, 1]] == "zero"


@pytest.mark.sampled(keep=0.012)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_evaluators_agree(function, sample):
    module, _, name = function.rpartition(".")
    found = []
    for dtype in sample(DTYPES, 0.1):
        for row in TABLES[module][name]:
            found += [(dtype, each) for each in differences(getattr(importlib.import_module(module), name), row, dtype)]
    unexpected = [
        f"{dtype} {each}" for dtype, each in found if not any(exempt.covers(name, dtype, each) for exempt in EXEMPT)
    ]
    assert not unexpected, "\n".join(unexpected)


@pytest.mark.sampled(keep=0.02)
@pytest.mark.parametrize("exempt", EXEMPT, ids=lambda exempt: f"{exempt.names} {exempt.kinds} {exempt.region()}")
def test_an_exception_is_still_needed(exempt):
    others = [other for other in EXEMPT if other is not exempt]
    functions = [(module, name) for module, table in TABLES.items() for name in exempt.names.split() if name in table]
    assert any(
        exempt.covers(name, dtype, each) and not any(other.covers(name, dtype, each) for other in others)
        for module, name in functions
        for dtype in DTYPES
        if exempt.is_of(dtype)
        for row in TABLES[module][name]
        for each in differences(getattr(importlib.import_module(module), name), row, dtype)
    ), "no function needs this exception; remove it from other_answers.py"
