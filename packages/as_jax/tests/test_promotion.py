"""Dtypes of results: jax's promotion, and numbers that stay weak.  The table is a record of what jax 0.10 gives."""

import jax
import jax.numpy as jnp
import pytest

# b1 is bool, u4 uint32, i8 int64, bf bfloat16, f2 float16, c8 complex64: the dtype of a sum of two, with 64 bits.
SUMS = """
    b1  u1  u2  u4  u8  i1  i2  i4  i8  bf  f2  f4  f8  c8  c16
b1  b1  u1  u2  u4  u8  i1  i2  i4  i8  bf  f2  f4  f8  c8  c16
u1  u1  u1  u2  u4  u8  i2  i2  i4  i8  bf  f2  f4  f8  c8  c16
u2  u2  u2  u2  u4  u8  i4  i4  i4  i8  bf  f2  f4  f8  c8  c16
u4  u4  u4  u4  u4  u8  i8  i8  i8  i8  bf  f2  f4  f8  c8  c16
u8  u8  u8  u8  u8  u8  f8  f8  f8  f8  bf  f2  f4  f8  c8  c16
i1  i1  i2  i4  i8  f8  i1  i2  i4  i8  bf  f2  f4  f8  c8  c16
i2  i2  i2  i4  i8  f8  i2  i2  i4  i8  bf  f2  f4  f8  c8  c16
i4  i4  i4  i4  i8  f8  i4  i4  i4  i8  bf  f2  f4  f8  c8  c16
i8  i8  i8  i8  i8  f8  i8  i8  i8  i8  bf  f2  f4  f8  c8  c16
bf  bf  bf  bf  bf  bf  bf  bf  bf  bf  bf  f4  f4  f8  c8  c16
f2  f2  f2  f2  f2  f2  f2  f2  f2  f2  f4  f2  f4  f8  c8  c16
f4  f4  f4  f4  f4  f4  f4  f4  f4  f4  f4  f4  f4  f8  c8  c16
f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  c16 c16
c8  c8  c8  c8  c8  c8  c8  c8  c8  c8  c8  c8  c8  c16 c8  c16
c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
"""
COLUMNS, *ROWS = [line.split() for line in SUMS.strip().splitlines()]
KINDS = {"u": "uint", "i": "int", "f": "float", "c": "complex"}


def dtype_of(code):
    whole = {"b1": "bool", "bf": "bfloat16"}.get(code)
    return whole or f"{KINDS[code[0]]}{8 * int(code[1:])}"


def result(f, *dtypes):
    return jax.eval_shape(f, *(jax.ShapeDtypeStruct((2,), dtype) for dtype in dtypes)).dtype


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_dtypes_promote_as_in_jax(row):
    first, *codes = map(dtype_of, row)
    with jax.enable_x64(True):
        for second, expected in zip(map(dtype_of, COLUMNS), codes, strict=True):
            assert jnp.promote_types(first, second) == expected
            assert result(lambda x, y: x + y, first, second) == result(jnp.maximum, first, second) == expected
            assert result(lambda x, y: jnp.stack([x, y]), first, second) == expected


@pytest.mark.parametrize(
    ("f", "dtypes"),
    [
        (lambda x: x / x, "int8 float32 int32 float32 int64 float64"),
        (lambda x: x / 2, "int8 float32 int32 float32 int64 float64"),
        (jnp.mean, "bool float32 int32 float32 int64 float64 bfloat16 bfloat16"),
        (jnp.sin, "bool float32 int8 float32 int32 float32 int64 float64"),
        (jnp.reciprocal, "int32 float32 int64 float64"), (lambda x: jnp.hypot(x, x), "int8 float32 int64 float64"),
        (jnp.cumsum, "bool int64 int8 int8 uint16 uint16 int32 int32"), (jnp.cumprod, "int8 int8 float16 float16"),
        (lambda x: x + 1.5, "int32 float64 float32 float32"),
    ],
)  # fmt: skip
def test_functions_of_integers_have_the_floats_of_jax(f, dtypes):
    names = dtypes.split()
    with jax.enable_x64(True):
        assert {name: result(f, name) for name in names[::2]} == dict(zip(names[::2], names[1::2]))


@pytest.mark.parametrize(
    ("f", "is_weak"),
    [
        (lambda w: w * 2, True), (lambda w: w * jnp.int32(3), True), (lambda w: jnp.int32(3) / w, True),
        (lambda w: w ** jnp.int32(3), True), (lambda w: jnp.multiply(w, jnp.int32(3)), True), (jnp.sqrt, True),
        (lambda w: jnp.where(True, w, 1), True), (lambda w: jnp.clip(w, 0, 1), True), (jnp.ones_like, True),
        (lambda w: jnp.full((), w), True), (jax.nn.relu, True), (lambda w: jnp.dot(w, w), True),
        (lambda w: w * jnp.float32(3), False), (lambda w: jnp.add(w, jnp.float16(3)), False), (jnp.sum, False),
        (jnp.mean, False), (jnp.max, False), (lambda w: jnp.asarray(w, jnp.float32), False),
        (lambda w: jnp.full((), w, "float32"), False), (lambda w: jnp.argmax(w), False),
    ],
)  # fmt: skip
def test_numbers_are_weak_where_jax_keeps_them_weak(f, is_weak):
    w = jnp.asarray(1.5)
    assert f(w).weak_type is is_weak
    assert jax.jit(f)(w).weak_type is is_weak


def test_random_numbers_are_strong():
    key = jax.random.key(0)
    assert not jax.random.uniform(key, (), minval=0.0, maxval=1.0).weak_type
    assert not jax.random.randint(key, (), 0, 5).weak_type


def test_an_integer_power_of_a_traced_integer_is_an_integer():
    power = jax.jit(lambda i: 2**i)(3)
    assert (int(power), power.dtype) == (8, jnp.int32)
    assert jax.vmap(lambda i: 2**i)(jnp.arange(3)).tolist() == [1, 2, 4]


def test_a_step_that_counts_keeps_short_floats():
    rate = lambda count: 0.1 * 0.5**count
    assert (jnp.ones(2, jnp.bfloat16) * rate(jnp.int32(3))).dtype == jnp.bfloat16
    assert jax.jit(lambda count, x: x * rate(count))(jnp.int32(3), jnp.ones(2, jnp.bfloat16)).dtype == jnp.bfloat16


def test_promotion_is_a_setting_of_jax():
    assert jax.config.jax_numpy_dtype_promotion == "standard"
    with (
        jax.numpy_dtype_promotion("strict"),
        pytest.raises(TypeError, match="numpy_dtype_promotion is 'strict'"),
    ):
        jnp.ones(2, "float16") + jnp.ones(2)
    with jax.numpy_dtype_promotion("standard"):
        assert (jnp.ones(2, "float16") + jnp.ones(2, "int32")).dtype == "float16"


@pytest.mark.parametrize(
    "slope",
    [
        lambda w: jax.grad(jnp.sin)(w), lambda w: jax.value_and_grad(lambda x, y: x * y, argnums=1)(2.0, w)[1],
        lambda w: jax.grad(lambda x: (x["a"] * 2.0, "aux"), has_aux=True)({"a": w})[0]["a"],
        lambda w: jax.jvp(jnp.sin, (w,), (w,))[1], lambda w: jax.vjp(jnp.sin, w)[1](w)[0],
        lambda w: jax.linearize(jnp.sin, w)[1](w),
    ],
)  # fmt: skip
def test_a_derivative_of_a_number_is_weak(slope):
    x = jnp.ones(2, jnp.bfloat16)
    for call in (slope, jax.jit(slope)):
        assert (x * call(0.5)).dtype == jnp.bfloat16
        assert not call(jnp.float32(0.5)).weak_type


def test_the_number_of_a_step_is_weak():
    assert jax.lax.fori_loop(0, 3, lambda i, x: x + i, jnp.int8(1)).dtype == "int8"
    assert jax.lax.fori_loop(0, 3, lambda i, x: x * i, jnp.ones(2, jnp.bfloat16)).dtype == jnp.bfloat16
    assert jax.lax.fori_loop(0, jnp.int32(3), lambda i, x: x + i, jnp.int32(1)).dtype == "int32"


@pytest.mark.parametrize(
    "f",
    [
        lambda i: i % 2.5, lambda i: i // 2.5, lambda i: 2.5 % i, lambda i: 2.5 // i, lambda i: divmod(i, 2.5)[0],
        lambda i: i * 2.5,
    ],
)  # fmt: skip
def test_an_integer_beside_a_float_of_python_is_weak(f):
    assert f(jnp.int32(3)).weak_type
    assert jax.jit(f)(jnp.int32(3)).weak_type


@pytest.mark.parametrize(
    "f", [jnp.convolve, jnp.correlate, jnp.polymul, lambda x, y: jnp.polyder(x), lambda x, y: jnp.polymul(x, [1, 2])]
)
def test_sums_of_products_of_integers_are_floats(f):
    i = jnp.arange(3)
    assert (f(i, i).dtype, f(i * 1.0, i).dtype) == ("float32", "float32")
