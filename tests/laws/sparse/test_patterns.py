"""Patterns are never too small: against dense derivatives, of the table of programs and of random functions."""

from __future__ import annotations

import numpy as np
import pytest
from patterns_law import as_vector_function, check_hessian, check_jacobian
from random_functions import SIZE, STEPS, function_of
from test_laws import PROGRAMS

WITH_FLOATS = [program for program in PROGRAMS if "float64" in program.dtypes]
REAL = [program for program in WITH_FLOATS if as_vector_function(program.example("float64"))[1]]
IDS = [program.name for program in REAL]


@pytest.mark.sampled(keep=0.02)
@pytest.mark.parametrize("program", REAL, ids=IDS)
def test_the_pattern_of_a_program_has_every_entry_of_its_derivatives(program):
    function, xs = as_vector_function(program.example("float64"))
    check_jacobian(function, xs)
    check_hessian(function, xs)


@pytest.mark.sampled(keep=0.02)
@pytest.mark.parametrize("start", range(0, 2000, 25))
def test_the_pattern_of_a_random_function_has_every_entry(start):
    for seed in range(start, start + 25):
        function, names = function_of(seed)
        x = np.random.default_rng(seed).normal(size=SIZE)
        try:
            check_jacobian(function, [x])
            if "reversed rule" not in names:  # it has no jvp rule, so no Hessian by forward over reverse
                check_hessian(function, [x])
        except AssertionError as error:
            error.add_note(f"seed {seed}: {names}")
            raise


def test_every_step_of_random_functions_is_drawn():
    assert {name for seed in range(2000) for name in function_of(seed)[1]} == set(STEPS)
