"""Where evaluators answer differently on purpose, each with its reason; everywhere else they agree.

One idea: an exception names functions, kinds of differences and dtypes.  `docs/sharp_edges.md` tells users of the ones
that they can meet.
"""

from __future__ import annotations

from dataclasses import dataclass

from calls import dtype_of, is_float
from evaluators import Difference


@dataclass(frozen=True)
class Exempt:
    """Differences of these kinds, for dtypes of these kinds: "f" floats, "c" complex, "iub" others; or named ones."""

    reason: str
    names: str
    kinds: str
    dtypes: str = "fciub"
    evaluators: str = "jit device"
    sizes: str = "many one none"

    def covers(self, name: str, dtype: str, difference: Difference) -> bool:
        kind = "f" if is_float(dtype_of(dtype)) else dtype_of(dtype).kind if "int4" not in dtype else "i"
        is_of_dtype = kind in self.dtypes if set(self.dtypes) <= set("fciub") else dtype in self.dtypes.split()
        return (
            name in self.names.split()
            and difference.kind in self.kinds.split()
            and is_of_dtype
            and difference.evaluator in self.evaluators.split()
            and difference.size in self.sizes.split()
        )


COMPLEX = "XLA's complex functions have no branches for infinities, nan and signed zeros of one part, as C99 has"
ORDER = "the order of zeros of both signs is not determined: they are equal, and NumPy's sort is not stable"
CHOICE = "of two zeros with different signs, NumPy's choice depends on the machine, and XLA's maximum is 0.0"
OF_COMPLEX = """
    sign reciprocal round around exp exp2 expm1 log log2 log10 log1p sinc sin cos tan asin acos atan arcsin arccos
    arctan sinh cosh tanh asinh acosh atanh arcsinh arccosh arctanh add subtract multiply divide true_divide
    float_power pow power square sqrt cbrt clip absolute abs angle mean sum prod nanmean nansum nanprod std var nanstd
    nanvar average
    gradient dot matmul inner outer vdot tensordot kron vecdot vecmat matvec einsum cumsum cumprod nancumsum nancumprod
    pad diff ediff1d trapezoid unwrap norm vector_norm matrix_norm cho_solve cholesky fiedler div integer_pow
    reduce_prod
    reduce_sum cumlogsumexp rem max min reduce_max reduce_min batch_matmul rsqrt logistic logistic_slope tanh_slope
"""
EXEMPT = [
    Exempt(CHOICE, "maximum minimum fmax fmin clip max min amax amin clamp cummax cummin", "zero"),
    Exempt(ORDER, "sort partition sort_complex median nanmedian nanquantile nanpercentile quantile percentile", "zero"),
    Exempt("ml_dtypes gives -0.0 the sign -0.0", "sign", "zero", "bfloat16 float8_e4m3fn float8_e5m2"),
    Exempt("NumPy returns the first of two equal zeros for float16, and the second for others", "nextafter", "zero"),
    Exempt("XLA takes x + 0.0 for x, also if x is -0.0", "pad linspace irfft hfft householder_product", "zero"),
    Exempt("subnormal numbers are zeros in compiled programs", "spacing nextafter polygamma", "value", "fiub"),
    Exempt("a rounded extreme integer is out of range: NumPy wraps it", "round around", "value", "iu"),
    Exempt("NumPy rounds pi x before the sine", "sinc", "value zero", "fiub"),
    Exempt("NumPy's function of an infinity is nan", "i0", "value"),
    Exempt("NumPy adds integers of 4 bits in 8", "apply_over_axes", "type", "int4 uint4"),
    Exempt("both parts of NumPy's nan are nan", "median nanmedian", "value", "c", sizes="none"),
    Exempt("NumPy widens floats of 8 bits", "gradient", "refusal", "float8_e4m3fn float8_e5m2"),
    Exempt("the density, by which it divides, underflows", "random_gamma_grad", "value", "fiub"),
    Exempt(
        "NumPy's result for elements that are all nan has another dtype, and beside an infinity it is nan",
        "nanquantile nanpercentile",
        "type value",
        "f",
    ),
    Exempt("NumPy's result for no elements has no axis of q", "nanquantile nanpercentile", "type", sizes="none"),
    Exempt("NumPy returns memory that it has not written", "irfft hfft", "value", sizes="none"),
    Exempt("NumPy's inverse of no elements keeps the dtype of integers", "pinv", "type", "iub", sizes="none"),
    Exempt(
        "known negative exponents of integers are refused; a program cannot refuse values",
        "pow power",
        "refusal",
        "i",
        "jit",
    ),
    Exempt(
        "a singular matrix of bools is refused; a program cannot refuse values",
        "solve inv tensorsolve tensorinv cholesky matrix_power cho_factor",
        "refusal",
        "b",
    ),
    Exempt("NumPy's inverse of no elements takes any dtype", "pinv", "refusal", "float16 bfloat16", sizes="none"),
    Exempt(
        "NumPy divides by the size in half precision",
        "ifft ihfft ifft2 irfft2 ifftn irfftn irfft hfft",
        "value",
        "float16",
    ),
    Exempt("an eigenvalue of a singular matrix is a rounding error, and so is its root", "sqrtm", "value", "b"),
    Exempt("bools stand for places, which must be known", "ix_", "refusal", "b", "jit"),
    Exempt("an empty list has floats, and means no indices", "ix_", "type", sizes="none"),
    Exempt("NumPy's dtype and order depend on the values of the roots", "roots", "type value zero class refusal"),
    Exempt("it is NumPy's function where nothing is traced", "vectorize frompyfunc", "class refusal"),
    Exempt("complex numbers fill no intervals; NumPy drops a part", "interp histogram histogram2d", "refusal", "c"),
    Exempt("complex numbers fill no intervals; NumPy drops a part", "histogramdd histogram_bin_edges", "refusal", "c"),
    Exempt("a variance is real; NumPy drops the imaginary parts of the elements", "std var", "refusal", "c"),
    Exempt("NumPy cuts a remainder by its values, which are rounding errors", "polydiv", "type value zero", "fc"),
    Exempt("NumPy's covariance of no numbers is real", "cov corrcoef", "type", "c", sizes="none"),
    Exempt("a negative float has no unsigned value", "astype convert_element_type threefry2x32 bincount", "value", "c"),
    Exempt("the result is a constant", "adjugate approx_min_k", "class", evaluators="device", sizes="one none"),
    Exempt(COMPLEX, OF_COMPLEX, "value zero", "c"),
]
