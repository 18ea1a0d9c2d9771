"""Arrays made from shapes and numbers, and what the standard says about dtypes, in both regimes."""

import numpy as np
import pytest
from arrays import NUMBER, SHAPES, VECTOR, numbers
from forms import assert_conforms, compiled, evaluated, traced
from standard import ALL_DTYPES, DTYPES, PAIRS, bits_of, dtypes_of, kind_of, promoted

import calque_numpy as cnp
from calque_core import config
from calque_xla_backend import device_put, devices

FORMS = (evaluated, traced, compiled)
DEFAULTS = {"b": "bool", "i": "int{}", "f": "float{}", "c": "complex{}"}
SCALARS = {"b": True, "i": 2, "f": 2.5, "c": 1 + 2j}
KINDS = {
    "bool": "b", "signed integer": "i", "unsigned integer": "i", "integral": "i", "real floating": "f",
    "complex floating": "c", "numeric": "ifc",
}  # fmt: skip


def made(m, x):
    shapes = [(), 3, (2, 3), (0,), (2, 0, 1)]
    filled = [f(shape) for f in (m.zeros, m.ones) for shape in shapes]
    filled += [m.full(shape, value) for shape in shapes for value in (True, 3, -1.5, 2j)]
    filled += [f((2,), dtype=dtype) for f in (m.zeros, m.ones) for dtype in ALL_DTYPES]
    filled += [m.full((2,), 1, dtype=dtype) for dtype in ALL_DTYPES]
    return [*filled, m.full((2,), x), m.full_like(m.ones((2,)), x)]


def ranges(m, x):
    integers = [m.arange(*args) for args in ((5,), (2, 7), (2, 9, 3), (9, 2, -3), (0,), (3, 3), (1, 6, 10))]
    floats = [m.arange(*args) for args in ((5.0,), (0.5, 2), (1, 0, -0.25))]
    typed = [m.arange(1, 6, 2, dtype=dtype) for dtype in dtypes_of("if")]
    spaced = [m.linspace(0, 1, num) for num in (0, 1, 5)] + [m.linspace(-1.0, 2, num=4, endpoint=False)]
    spaced += [m.linspace(0, 1, 3, dtype=dtype) for dtype in dtypes_of("f")] + [m.linspace(1j, 2, 3)]
    return [*integers, *floats, *typed, *spaced, x]


def matrices(m, x):
    eyes = [
        m.eye(3),
        m.eye(2, 3),
        m.eye(3, 2, k=1),
        m.eye(3, k=-1),
        m.eye(2, k=9),
        m.eye(0),
        m.eye(0, 2),
        m.eye(2, None),
    ]
    return [*eyes, *[m.eye(2, dtype=dtype) for dtype in ALL_DTYPES], x]


def converted(m, x):
    return [m.astype(x, dtype) for dtype in ALL_DTYPES if x.dtype.kind != "c" or kind_of(dtype) in "bc"]


def arrays(m, x):
    nested = [m.asarray([[x, x], [x, x]]), m.asarray((x, x), dtype=m.complex128), m.asarray(x, copy=True)]
    return [*nested, *[m.asarray(value) for value in (True, 3, 2.5, 1j, [1, 2], [[True]], [], [1, 2.5], [1j, 2])]]


@pytest.mark.parametrize("program", [made, ranges, matrices, arrays], ids=lambda program: program.__name__)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_arrays_are_made_as_by_numpy(program, form):
    assert_conforms(program, np.float32(1.5) if program is made else np.array(1.5), by=(form,))


@pytest.mark.sampled(keep=0.3)
@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_an_array_is_converted_to_every_dtype(dtype, form):
    x = np.abs(numbers(dtype, VECTOR)) if kind_of(dtype) in "if" else numbers(dtype, VECTOR)  # -1 has no unsigned value
    assert_conforms(converted, x, by=(form,))


@pytest.mark.parametrize("bits", [64, 32])
def test_a_python_scalar_has_the_default_dtype_of_its_kind(bits):
    info = cnp.__array_namespace_info__()
    with config.default_dtype_bits(bits):
        for kind, scalar in SCALARS.items():
            dtype = DEFAULTS[kind].format(2 * bits if kind == "c" else bits)
            assert cnp.asarray(scalar).dtype == cnp.full((2,), scalar).dtype == np.dtype(dtype)
            for shape in SHAPES:
                assert traced(lambda m, x, v=scalar, s=shape: m.full(s, v), 0.0).dtype == np.dtype(dtype)
        defaults = info.default_dtypes()
        assert defaults["real floating"] == cnp.ones(2).dtype == cnp.linspace(0, 1, 2).dtype == cnp.eye(2).dtype
        assert defaults["integral"] == cnp.arange(3).dtype


def test_every_array_in_32_bits_is_made_in_32_bits():
    with config.enable_x64(False):
        dtypes = cnp.__array_namespace_info__().dtypes()
        for name in ALL_DTYPES:
            narrow = name if kind_of(name) == "b" or bits_of(name) <= (64 if kind_of(name) == "c" else 32) else None
            assert (name in dtypes) == (narrow is not None)
            out = cnp.zeros(2, dtype=name).dtype
            assert out == np.dtype(narrow) if narrow else out.itemsize == np.dtype(name).itemsize // 2


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_the_promoted_dtype_is_the_standards(one, other):
    want = np.dtype(promoted(one, other))
    x = device_put(numbers(other, NUMBER))
    assert cnp.result_type(one, other) == cnp.result_type(numbers(one), other) == cnp.result_type(one, x) == want
    assert traced(lambda m, a: m.zeros(1, dtype=m.result_type(a, other)), numbers(one)).dtype == want
    assert cnp.can_cast(one, want)
    assert cnp.can_cast(device_put(numbers(one)), want)


def test_a_python_scalar_promotes_to_the_dtype_of_the_array():
    for dtype in ALL_DTYPES:
        for scalar in [SCALARS[kind] for kind in "bifc"[: "bifc".index(kind_of(dtype)) + 1] if kind != "b"]:
            assert cnp.result_type(numbers(dtype), scalar) == np.dtype(dtype)


@pytest.mark.parametrize("kind", KINDS)
def test_a_dtype_is_of_a_kind(kind):
    for dtype in ALL_DTYPES:
        want = kind_of(dtype) in KINDS[kind] and not (kind.startswith("signed") and dtype.startswith("u"))
        want = want and not (kind.startswith("unsigned") and not dtype.startswith("u"))
        assert cnp.isdtype(np.dtype(dtype), kind) is want
        assert cnp.isdtype(getattr(cnp, dtype), (kind, "bool")) is (want or dtype == "bool")
        assert cnp.isdtype(getattr(cnp, dtype), getattr(cnp, dtype)) is True


def test_limits_of_a_dtype_are_numpys_also_of_a_traced_array():
    for dtype in DTYPES["i"]:
        assert [(i.bits, i.min, i.max) for i in (cnp.iinfo(dtype), cnp.iinfo(np.dtype(dtype)))] == [
            (i.bits, i.min, i.max) for i in [np.iinfo(dtype)] * 2
        ]
    for dtype in dtypes_of("fc"):
        ours, theirs = cnp.finfo(np.dtype(dtype)), np.finfo(dtype)
        names = ("bits", "eps", "max", "min", "smallest_normal", "dtype")
        assert [getattr(ours, name) for name in names] == [getattr(theirs, name) for name in names]
    for x in (numbers("float32"), numbers("int8"), numbers("complex64")):
        limits = cnp.iinfo if x.dtype.kind == "i" else cnp.finfo
        known = traced(lambda m, a, f=limits: np.asarray(f(a).max), x)
        assert known == limits(x).max == limits(device_put(x)).max == limits(x.dtype).max


def test_each_device_makes_arrays():
    info = cnp.__array_namespace_info__()
    assert info.devices() == ["cpu", *devices()]
    for device in info.devices():
        for x in (cnp.zeros(2, device=device), cnp.asarray([1], device=device), cnp.arange(2, device=device)):
            assert x.device == device
        assert set(info.dtypes(device=device)) == set(ALL_DTYPES)
