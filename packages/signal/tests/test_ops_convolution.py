"""Values of convolutions against their definition, one product of numbers at a time; layouts, forms and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import ShapeError, config, lax, make_jaxpr, rules
from calque_signal.ops import convolution_products

pytestmark = pytest.mark.sampled(keep=0.2)


def definition(lhs, rhs, strides, pads, lhs_dilation, rhs_dilation, feature_groups, batch_groups):
    """Return the convolution of [n, c, *s] with [o, i, *k], from Python's loops over all indices."""
    batch, (out_features, in_features, *window) = lhs.shape[0] // batch_groups, rhs.shape
    sizes = [(s - 1) * d + 1 + sum(pad) for s, d, pad in zip(lhs.shape[2:], lhs_dilation, pads)]
    spans = [(k - 1) * d + 1 for k, d in zip(window, rhs_dilation)]
    counts = [max(0, (size - span) // step + 1) for size, span, step in zip(sizes, spans, strides)]
    out = np.zeros((batch, out_features, *counts), lhs.dtype)
    for n, o, *place in np.ndindex(*out.shape):
        group = o // (out_features // (feature_groups * batch_groups))
        element = n + group * batch if batch_groups > 1 else n
        first = group * in_features if feature_groups > 1 else 0
        for i, *entry in np.ndindex(in_features, *window):
            stretched = [
                p * step + e * gap - low for p, step, e, gap, (low, _) in zip(place, strides, entry, rhs_dilation, pads)
            ]
            places = [divmod(at, d) for at, d in zip(stretched, lhs_dilation)]
            if all(gap == 0 and 0 <= at < s for (at, gap), s in zip(places, lhs.shape[2:])):
                out[n, o, *place] += lhs[element, first + i, *[at for at, _ in places]] * rhs[o, i, *entry]
    return out


# Shapes of both operands, strides, padding, dilation of the operand and of the kernel, feature and batch groups.
CASES = {
    "no spatial axis": ((3, 2), (4, 2), (), [], (), (), 1, 1),
    "no spatial axis, groups": ((3, 4), (6, 2), (), [], (), (), 2, 1),
    "one axis": ((2, 3, 7), (2, 3, 3), (1,), [(0, 0)], (1,), (1,), 1, 1),
    "stride": ((2, 3, 8), (2, 3, 3), (2,), [(1, 0)], (1,), (1,), 1, 1),
    "stride beyond the window": ((1, 2, 9), (2, 2, 2), (4,), [(0, 0)], (1,), (1,), 1, 1),
    "gaps in the operand": ((2, 1, 4), (2, 1, 3), (2,), [(2, 1)], (3,), (1,), 1, 1),
    "gaps in the kernel": ((2, 1, 8), (2, 1, 3), (1,), [(0, 1)], (1,), (2,), 1, 1),
    "negative padding": ((2, 1, 8), (2, 1, 3), (1,), [(-2, -1)], (2,), (1,), 1, 1),
    "padding that cuts and adds": ((2, 1, 5), (1, 1, 2), (1,), [(-3, 4)], (1,), (1,), 1, 1),
    "kernel larger than the operand": ((2, 1, 2), (1, 1, 4), (1,), [(0, 0)], (1,), (1,), 1, 1),
    "image": ((2, 3, 5, 6), (4, 3, 2, 3), (1, 2), [(1, 1), (0, 2)], (1, 1), (1, 1), 1, 1),
    "image with everything": ((2, 4, 4, 3), (6, 2, 2, 3), (2, 1), [(2, -1), (1, 3)], (2, 3), (1, 2), 2, 1),
    "one kernel per feature": ((2, 3, 4, 4), (6, 1, 2, 2), (1, 1), [(0, 0), (1, 1)], (1, 1), (1, 1), 3, 1),
    "batch groups": ((6, 2, 4, 3), (6, 2, 2, 2), (1, 2), [(1, 0), (0, 1)], (1, 2), (2, 1), 1, 3),
    "volume": ((1, 2, 3, 4, 3), (2, 2, 2, 1, 3), (1, 2, 1), [(0, 1), (1, 0), (2, 2)], (1, 1, 2), (2, 1, 1), 1, 1),
    "four axes": ((1, 1, 3, 2, 3, 2), (2, 1, 2, 2, 1, 2), (1,) * 4, [(0, 0)] * 4, (1,) * 4, (1,) * 4, 1, 1),
    "no batch": ((0, 2, 5), (3, 2, 2), (1,), [(0, 0)], (1,), (1,), 1, 1),
    "no batch, groups": ((0, 2, 5), (4, 2, 2), (1,), [(0, 0)], (1,), (1,), 1, 2),
    "no features": ((2, 0, 5), (3, 0, 2), (1,), [(0, 0)], (1,), (1,), 1, 1),
    "no features of the result": ((2, 2, 5), (0, 2, 2), (1,), [(0, 0)], (1,), (1,), 1, 1),
    "no elements": ((2, 2, 0, 3), (3, 2, 1, 2), (1, 1), [(0, 0), (0, 0)], (2, 1), (1, 1), 1, 1),
    "padding alone": ((2, 2, 0), (3, 2, 2), (1,), [(2, 1)], (1,), (1,), 1, 1),
    "ones": ((1, 1, 1), (1, 1, 1), (1,), [(0, 0)], (1,), (1,), 1, 1),
}
TOLERANCE = {"float32": 1e-5, "float64": 1e-13, "complex64": 1e-5, "complex128": 1e-13}


def drawn(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return rng.normal(size=shape).astype(dtype) if np.dtype(dtype).kind == "f" else rng.integers(0, 9, shape, dtype)


def arguments(name):
    _, _, strides, pads, lhs_dilation, rhs_dilation, feature_groups, batch_groups = CASES[name]
    return {
        "window_strides": strides,
        "padding": pads,
        "lhs_dilation": lhs_dilation,
        "rhs_dilation": rhs_dilation,
        "feature_group_count": feature_groups,
        "batch_group_count": batch_groups,
    }


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", CASES)
def test_convolutions_are_what_their_definition_says(name, dtype):
    lhs, rhs = drawn(CASES[name][0], dtype), drawn(CASES[name][1], dtype, 1)
    with np.errstate(over="ignore"):  # short integers wrap around
        expected = definition(lhs, rhs, *CASES[name][2:])
    convolve = lambda lhs, rhs: lax.conv_general_dilated(lhs, rhs, **arguments(name))
    out = convolve(lhs, rhs)
    assert (out.shape, out.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(out, expected, rtol=TOLERANCE.get(dtype, 0), atol=TOLERANCE.get(dtype, 0))
    (aval,) = make_jaxpr(convolve)(lhs, rhs).out_avals
    assert (aval.shape, aval.dtype) == (out.shape, out.dtype)


@pytest.mark.parametrize("name", CASES)
def test_a_convolution_decomposes_into_windows_and_a_product(name):
    lhs, rhs = drawn(CASES[name][0], "float64"), drawn(CASES[name][1], "float64", 1)
    eqn = make_jaxpr(lambda x, k: lax.conv_general_dilated(x, k, **arguments(name)))(lhs, rhs).eqns[-1]
    parts = rules("decomposition")[eqn.primitive](lhs, rhs, **eqn.params)
    whole = eqn.primitive.bind(lhs, rhs, **eqn.params)
    assert (parts.shape, parts.dtype) == (whole.shape, whole.dtype)
    np.testing.assert_allclose(parts, whole, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", ["image with everything", "batch groups", "one kernel per feature", "volume"])
@pytest.mark.parametrize("seed", range(6))
def test_every_layout_gives_the_same_numbers(name, seed):
    rng = np.random.default_rng(seed)
    lhs, rhs = drawn(CASES[name][0], "float64"), drawn(CASES[name][1], "float64", 1)
    ndim = lhs.ndim
    numbers = lax.ConvDimensionNumbers(*(tuple(map(int, rng.permutation(ndim))) for _ in range(3)))
    lhs_laid, rhs_laid = (
        np.ascontiguousarray(x.transpose(np.argsort(spec))) for x, spec in zip((lhs, rhs), numbers[:2])
    )
    out = lax.conv_general_dilated(lhs_laid, rhs_laid, dimension_numbers=numbers, **arguments(name))
    expected = lax.conv_general_dilated(lhs, rhs, **arguments(name))
    np.testing.assert_allclose(out.transpose(numbers.out_spec), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("block", [1, 7, 100])
@pytest.mark.parametrize("layout", [("NCHW", "OIHW", "NCHW"), ("CHWN", "IHWO", "CHWN"), ("HWNC", "HWIO", "HWNC")])
def test_blocks_of_any_size_give_the_same_numbers(block, layout, monkeypatch):
    kernel = drawn([{"O": 6, "I": 4, "H": 2, "W": 3}[letter] for letter in layout[1]], "float64", 1)
    convolve = lambda x: lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=layout)
    x = drawn((4, 4, 4, 4), "float64")
    whole = convolve(x)
    monkeypatch.setattr(convolution_products, "_BLOCK", block)
    out = convolve(x)
    np.testing.assert_allclose(out, whole, rtol=1e-12, atol=1e-12)


def test_the_matrix_of_windows_is_made_in_blocks(monkeypatch):
    sizes = []
    multiply = convolution_products._product

    def recorded(windows, kernel):
        sizes.append(windows.size)
        return multiply(windows, kernel)

    monkeypatch.setattr(convolution_products, "_BLOCK", 1000)
    monkeypatch.setattr(convolution_products, "_product", recorded)
    lax.conv(np.ones((16, 2, 10)), np.ones((3, 2, 5)), (1,), "SAME")  # 100 elements of windows for each of the batch
    assert sizes == [1000, 600]


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_short_floats_are_summed_in_single(name):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason=f"{name} is defined by ml_dtypes, which comes with jaxlib")
    x = np.full((1, 512, 1), 1 / 64, getattr(ml_dtypes, name, name))
    assert lax.conv(x, np.ones_like(x), (1,), "VALID").tolist() == [[[8.0]]]


def test_sums_are_made_in_the_wider_preferred_type():
    x = np.full((1, 300), 100, np.int8)
    out = lax.conv(x, x, (), "VALID", preferred_element_type=np.int32)
    assert (out.tolist(), out.dtype) == ([[3_000_000]], np.int32)


def test_operands_are_promoted():
    assert lax.conv(np.ones((1, 1), np.int8), np.ones((1, 1), np.float32), (), "VALID").dtype == np.float32


# Layouts


@pytest.mark.parametrize(("words", "numbers"), [
    (None, ((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))),
    (("NHWC", "HWIO", "NHWC"), ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))),
    (["NCWH", "WOHI", "HNCW"], ((0, 1, 2, 3), (1, 3, 0, 2), (1, 2, 3, 0))),
    (("NC01", "OI10", "NC01"), ((0, 1, 3, 2), (0, 1, 2, 3), (0, 1, 3, 2))),
])  # fmt: skip
def test_words_become_positions_in_the_order_of_the_kernel(words, numbers):
    assert lax.conv_dimension_numbers((1, 1, 1, 1), (1, 1, 1, 1), words) == lax.ConvDimensionNumbers(*numbers)


@pytest.mark.parametrize(("words", "kind", "text"), [
    (("NCH", "OIHW", "NCHW"), ValueError, "'NCH' is no layout of 4 axes. Give 4 different letters with 'N' and 'C'"),
    (("NCHW", "OIHH", "NCHW"), ValueError, "'OIHH' is no layout of 4 axes. Give 4 different letters with 'O' and 'I'"),
    (("NCHW", "NCHW", "NCHW"), ValueError, "'NCHW' is no layout of 4 axes. Give 4 different letters with 'O' and 'I'"),
    (("NCHW", "OIHW", "NCHD"), ValueError, "its words have different spatial letters. Name each"),
    (("NCHW", "OIHW"), TypeError, r"Give three words such as \('NCHW', 'OIHW', 'NCHW'\), ConvDimensionNumbers"),
    ("NCHW", TypeError, "Give three words such as"),
    (7, TypeError, "dimension_numbers is 7. Give three words such as"),
    (((0, 1, 2, 3),) * 3, TypeError, "Give three words such as"),
    (lax.ConvDimensionNumbers((0, 1, 2, 3), (0, 1, 2, 2), (0, 1, 2, 3)), ValueError, "rhs_spec is .* Give each axis"),
    (lax.ConvDimensionNumbers((0, 1), (0, 1), (0, 1)), ValueError, r"lhs_spec is \(0, 1\). Give each axis from 0 to 3"),
    (lax.ConvDimensionNumbers("abcd", (0, 1, 2, 3), (0, 1, 2, 3)), TypeError, "lhs_spec is 'abcd'. Give a sequence of"),
])  # fmt: skip
def test_layouts_that_are_none_are_refused_with_their_words(words, kind, text):
    with pytest.raises(kind, match=rf"conv_dimension_numbers at .*test_ops_convolution.py:\d+.*: .*{text}"):
        lax.conv_general_dilated(np.ones((1, 1, 2, 2)), np.ones((1, 1, 1, 1)), (1, 1), "VALID", dimension_numbers=words)


def test_a_jaxpr_shows_the_layout_as_words():
    convolve = lambda x, k: lax.conv_general_dilated(x, k, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))
    text = str(make_jaxpr(convolve)(np.ones((2, 5, 3)), np.ones((2, 3, 4))))
    assert "dimension_numbers=N0C,0IO->N0C" in text
    assert "precision" not in text


# Refusals

both = pytest.mark.parametrize(
    "of", [lambda f, *xs: f(*xs), lambda f, *xs: make_jaxpr(f)(*xs)], ids=["evaluated", "staged"]
)


@both
@pytest.mark.parametrize(("shapes", "keywords", "words"), [
    (((1, 4, 5), (2, 3, 2)), {}, "the operand has 4 features, but the kernel has 3 for each of the 1 feature groups"),
    (((1, 4, 5), (2, 3, 2)), {"feature_group_count": 2}, "has 4 features, but the kernel has 3 for each of the 2"),
    (((1, 4, 5), (3, 2, 2)), {"feature_group_count": 2}, "has 3 features of the result for 2 groups. Give a multiple"),
    (((4, 1, 5), (3, 1, 2)), {"batch_group_count": 2}, "has 3 features of the result for 2 groups. Give a multiple"),
    (((3, 1, 5), (2, 1, 2)), {"batch_group_count": 2}, "the batch has 3 elements for 2 groups. Give a multiple of 2"),
    (((4, 1, 5), (4, 1, 2)), {"batch_group_count": 0}, "batch_group_count is 0. Give counts of 1 or more"),
    (((4, 1, 5), (4, 1, 2)), {"feature_group_count": -1}, "feature_group_count is -1 and batch_group_count is 1. Give"),
    (((4, 2, 5), (4, 1, 2)), {"feature_group_count": 2, "batch_group_count": 2}, "of which one is 1"),
    (((1, 1, 5), (1, 1, 0)), {}, r"the kernel has spatial sizes \(0,\), and the operand \(5,\) after padding"),
    (((1, 1, 5), (1, 1, 2)), {"padding": [(-4, -2)]}, r"the operand \(-1,\) after padding by \(\(-4, -2\),\)"),
])  # fmt: skip
def test_shapes_that_do_not_fit_are_refused_with_the_types_and_the_layout(of, shapes, keywords, words):
    text = r"conv_general_dilated of float64\[.*\] and float64\[.*\] in the layout NC0,OI0->NC0 at .*: .*" + words
    keywords = {"padding": "VALID"} | keywords
    with pytest.raises(ShapeError, match=text):
        of(lambda x, k: lax.conv_general_dilated(x, k, (1,), **keywords), *map(np.ones, shapes))


@both
@pytest.mark.parametrize("shapes", [((2, 3, 4), (2, 3)), ((3,), (3,)), ((), ())])
def test_operands_need_one_number_of_axes(of, shapes):
    with pytest.raises(ShapeError, match=r"operands of a convolution have \d and \d axes. Give both the same number"):
        of(lambda x, k: lax.conv(x, k, (1,), "VALID"), *map(np.ones, shapes))


@pytest.mark.parametrize(("keywords", "kind", "words"), [
    ({"window_strides": (1, 1)}, ValueError, r"window_strides is \(1, 1\), but there are 1 axes"),
    ({"window_strides": (0,)}, ValueError, r"window_strides is \(0,\). Give numbers of 1 or more"),
    ({"rhs_dilation": (0,)}, ValueError, r"rhs_dilation is \(0,\). Give numbers of 1 or more"),
    ({"lhs_dilation": 2}, TypeError, "lhs_dilation is 2. Give a sequence of integers"),
    ({"padding": "SMAE"}, ValueError, "the padding at .* is 'SMAE'. Did you mean 'SAME'"),
    ({"padding": [(0, 0)] * 2}, ValueError, "for 1 axes. Give 'VALID', 'SAME', 'SAME_LOWER', or a pair"),
    ({"padding": "SAME", "lhs_dilation": (2,)}, ValueError, "Give pairs .* for a dilated operand, or use conv_transp"),
    ({"feature_group_count": 1.0}, TypeError, "feature_group_count is 1.0. Give an integer"),
    ({"precision": "low"}, ValueError, "conv_general_dilated at .*: precision is 'low'. Give a lax.Precision"),
    ({"preferred_element_type": int}, TypeError, "sums in int64 lose information of the products"),
])  # fmt: skip
def test_arguments_that_are_none_are_refused_by_name(keywords, kind, words):
    keywords = {"window_strides": (1,), "padding": "VALID"} | keywords
    with pytest.raises(kind, match=words):
        lax.conv_general_dilated(np.ones((1, 1, 5)), np.ones((1, 1, 2)), **keywords)


# Special cases


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("window", [1, 2, 3])
def test_a_transposed_convolution_with_its_kernel_turned_is_the_transpose(padding, stride, dilation, window):
    small, kernel = drawn((2, 4, 3), "float64"), drawn((window, 5, 3), "float64", 1)  # the kernel: [w, in, out]
    big = lax.conv_transpose(small, kernel, (stride,), padding, (dilation,), ("NWC", "WIO", "NWC"), True)
    span = dilation * (window - 1) + 1
    assert big.shape[1] == 4 * stride + (max(0, span - stride) if padding == "VALID" else 0)
    u = drawn(big.shape, "float64", 2)
    forward = lax.conv_general_dilated(
        u, kernel, (stride,), padding, rhs_dilation=(dilation,), dimension_numbers=("NWC", "WIO", "NWC")
    )
    assert forward.shape == small.shape
    np.testing.assert_allclose(np.sum(big * u), np.sum(small * forward), rtol=1e-10)


@pytest.mark.parametrize("pads", [(0, 0), (1, 0), (1, 2)])
def test_consistent_padding_is_that_of_the_convolution(pads):
    small, kernel = drawn((2, 3, 4), "float64"), drawn((3, 5, 3), "float64", 1)
    big = lax.conv_transpose(
        small, kernel, (2,), [pads], None, ("NCW", "OIW", "NCW"), True, use_consistent_padding=True
    )
    u = drawn(big.shape, "float64", 2)
    np.testing.assert_allclose(np.sum(big * u), np.sum(small * lax.conv(u, kernel, (2,), [pads])), rtol=1e-10)


def test_a_transposed_convolution_has_a_layout_for_up_to_three_spatial_axes():
    for ndim in range(2, 6):
        x, kernel = np.ones((2, *(3,) * (ndim - 2), 4)), np.ones((*(2,) * (ndim - 2), 4, 5))
        assert lax.conv_transpose(x, kernel, (2,) * (ndim - 2), "SAME").shape == (2, *(6,) * (ndim - 2), 5)
    with pytest.raises(ShapeError, match=r"default layout for 0 to 3 spatial axes. Give dimension_numbers"):
        lax.conv_transpose(np.ones((1,) * 6), np.ones((1,) * 6), (1,) * 4, "SAME")


@pytest.mark.parametrize("layout", [None, ("NHWC", "WHIO", "CNHW"), ("WCHN", "OHIW", "HNWC")])
def test_a_product_of_patches_with_a_flat_kernel_is_the_convolution(layout):
    numbers = lax.conv_dimension_numbers((1,) * 4, (1,) * 4, layout)
    lhs, rhs = drawn((2, 3, 5, 6), "float64"), drawn((4, 3, 2, 3), "float64", 1)
    laid = lhs.transpose(np.argsort(numbers.lhs_spec))
    options = {"lhs_dilation": (1, 2), "rhs_dilation": (2, 1), "dimension_numbers": layout}
    pads = [(1, 0), (-1, 2)]
    patches = lax.conv_general_dilated_patches(laid, (2, 3), (2, 1), pads, **options).transpose(numbers.out_spec)
    flat = np.einsum("nkhw,ok->nohw", patches, rhs.reshape(4, -1))
    expected = lax.conv_general_dilated(lhs, rhs, (2, 1), pads, (1, 2), (2, 1))
    np.testing.assert_allclose(flat, expected, rtol=1e-12, atol=1e-12)


def test_patches_are_copies_that_keep_infinities_beside_other_numbers():
    x = np.array([[[1.0, -np.inf, np.nan, 4.0]]])
    patches = lax.conv_general_dilated_patches(x, (2,), (1,), "VALID", precision="default")
    np.testing.assert_array_equal(patches, [[[1.0, -np.inf, np.nan], [-np.inf, np.nan, 4.0]]])


def test_patches_of_a_window_larger_than_the_array_are_none():
    assert lax.conv_general_dilated_patches(np.ones((2, 3, 2)), (4,), (1,), "VALID").shape == (2, 12, 0)


@pytest.mark.parametrize(("keywords", "kind", "words"), [
    ({"filter_shape": (2, 2)}, ShapeError, "operands of a convolution have 3 and 4 axes"),
    ({"filter_shape": (0,)}, ValueError, r"filter_shape is \(0,\). Give numbers of 1 or more"),
    ({"filter_shape": 2}, TypeError, "filter_shape is 2. Give a sequence"),
    ({"precision": 1}, ValueError, "precision is 1"),
    ({"preferred_element_type": np.int8}, TypeError, "conv_general_dilated_patches of .* sums in int8 lose"),
])  # fmt: skip
def test_patches_refuse_what_a_convolution_refuses(keywords, kind, words):
    keywords = {"filter_shape": (2,), "window_strides": (1,), "padding": "VALID"} | keywords
    with pytest.raises(kind, match=words):
        lax.conv_general_dilated_patches(np.ones((1, 1, 5)), **keywords)


@pytest.mark.parametrize("layout", [("NCHW", "OIHW", "NCHW"), ("NHWC", "WHIO", "HNCW")])
def test_equal_kernels_at_every_place_are_one_convolution(layout):
    numbers = lax.conv_dimension_numbers((1,) * 4, (1,) * 4, layout)
    lhs, rhs = drawn((2, 3, 5, 6), "float64"), drawn((4, 3, 2, 3), "float64", 1)
    expected = lax.conv(lhs, rhs, (1, 2), "SAME")
    kernels = np.broadcast_to(rhs.reshape(4, -1, 1, 1), (4, 18, *expected.shape[2:]))
    laid, kernels = lhs.transpose(np.argsort(numbers.lhs_spec)), kernels.transpose(np.argsort(numbers.rhs_spec))
    pads = lax.padtype_to_pads((5, 6), (2, 3), (1, 2), "SAME")
    out = lax.conv_general_dilated_local(laid, kernels, (1, 2), pads, (2, 3), None, None, layout, "high")
    np.testing.assert_allclose(out.transpose(numbers.out_spec), expected, rtol=1e-12, atol=1e-12)


def test_a_local_convolution_needs_a_kernel_at_every_place():
    with pytest.raises(ShapeError, match=r"the windows have 4 features at \(3,\) places. Give a kernel"):
        lax.conv_general_dilated_local(np.ones((1, 2, 4)), np.ones((1, 4, 2)), (1,), "VALID", (2,))


def test_the_setting_is_the_precision_of_convolutions_that_state_none():
    image = np.ones((1, 1, 3, 3))

    def name(**stated):
        (eqn,) = make_jaxpr(lambda x: lax.conv(x, image, (1, 1), "SAME", **stated))(image).eqns
        return eqn.params["precision"] and eqn.params["precision"][0].name

    assert name() is None
    with config.default_matmul_precision("tensorfloat32"):
        assert (name(), name(precision="default")) == ("HIGH", "DEFAULT")
    assert name() is None
