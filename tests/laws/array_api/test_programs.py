"""Functions that are not elementwise, in each form of an array: types and values are NumPy's."""

import pytest
from arrays import numbers
from extensions import EXTENSIONS
from forms import assert_conforms, compiled, evaluated, on_a_device
from programs import PROGRAMS
from standard import dtypes_of

PROGRAMS |= EXTENSIONS
TRACEABLE = [name for name, program in PROGRAMS.items() if program.knows_shapes]


def operands_of(program, dtype):
    return [numbers(dtype, shape) for shape in program.shapes]


def on_each(program):
    return lambda m, *xs: [program.run(m, x) for x in xs]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_function_gives_numpys_results(name, sample):
    program = PROGRAMS[name]
    forms = () if program.knows_shapes else (evaluated,)
    for dtype in sample(dtypes_of(program.kinds), 0.15):
        assert_conforms(on_each(program), *operands_of(program, dtype), ulps=program.ulps, by=forms)


@pytest.mark.sampled(keep=0.06)
@pytest.mark.parametrize("name", TRACEABLE)
def test_a_compiled_function_gives_numpys_results(name, sample):
    program = PROGRAMS[name]
    for dtype in sample(dtypes_of(program.kinds), 0.1):
        assert_conforms(on_each(program), *operands_of(program, dtype), by=(compiled,))


@pytest.mark.sampled(keep=0.03)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_function_of_device_arrays_gives_numpys_results(name, sample):
    program = PROGRAMS[name]
    for dtype in sample(dtypes_of(program.kinds), 0.1):
        assert_conforms(on_each(program), *operands_of(program, dtype), by=(on_a_device,))
