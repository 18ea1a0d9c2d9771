"""Where evaluators answer differently on purpose, each with its reason; everywhere else they agree.

One idea: an exception names functions, kinds of differences, dtypes and operands.  The page
`docs/evaluated_and_compiled.md` shows the table; this module, run as a script, writes it there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

Value = Any
KINDS = {
    "value": "values",
    "zero": "signs of zeros",
    "type": "dtypes or shapes",
    "class": "classes",
    "refusal": "refusals",
    "message": "messages of refusals",
}
EVALUATORS = {"jit": "compiled", "device": "on device arrays"}
SIZES = {"many": "several elements", "one": "one element", "none": "no elements"}
OPERANDS = {"ordinary": "ordinary", "zero": "a part is zero", "infinite": "infinite or NaN"}
DTYPES = {"f": "floats", "c": "complex", "i": "signed integers", "u": "unsigned integers", "b": "bools"}


@dataclass(frozen=True)
class Exempt:
    """Differences of these kinds, for dtypes of these kinds: "f" floats, "c" complex, "iub" others; or named ones."""

    reason: str
    names: str
    kinds: str
    dtypes: str = "fciub"
    evaluators: str = "jit device"
    sizes: str = "many one none"
    operands: str = "ordinary zero infinite"

    def covers(self, name: str, dtype: str, difference: Value) -> bool:
        return (
            name in self.names.split()
            and difference.kind in self.kinds.split()
            and self.is_of(dtype)
            and difference.evaluator in self.evaluators.split()
            and difference.size in self.sizes.split()
            and difference.operands in self.operands.split()
        )

    def is_of(self, dtype: str) -> bool:
        """Tell whether a dtype has the difference."""
        return kind_of(dtype) in self.dtypes if set(self.dtypes) <= set("fciub") else dtype in self.dtypes.split()

    def region(self) -> str:
        """Return the dtypes, operands, sizes and evaluators in words; those that are not restricted are left out."""
        words = [of_dtypes(self.dtypes)] if self.dtypes != "fciub" else []
        for table, chosen in ((OPERANDS, self.operands), (SIZES, self.sizes), (EVALUATORS, self.evaluators)):
            words += [" or ".join(table[x] for x in chosen.split())] * (set(chosen.split()) != set(table))
        return "; ".join(words) or "all"


def kind_of(dtype: str) -> str:
    """Return the kind of a dtype: "f", "c", "i", "u" or "b"."""
    return "f" if "float" in dtype else dtype[0]


def of_dtypes(dtypes: str) -> str:
    """Return the dtypes of an exception in words."""
    if set(dtypes) <= set("fciub"):
        return ", ".join(words for kind, words in DTYPES.items() if kind in dtypes)
    return ", ".join(dtypes.split())


CHOICE = "of two zeros with different signs, NumPy's choice depends on the machine, and XLA's maximum is 0.0"
ORDER = "the order of zeros of both signs is not determined: they are equal, and NumPy's sort is not stable"
SINGULAR = "a singular matrix of bools is refused; a program cannot refuse values"
QUOTIENT = "NumPy's quotient of complex numbers is NaN where C99's, which is XLA's, is infinite or zero"
PRODUCT = "a product of infinite complex numbers has NaN in parts that depend on the order of the product"
BY_SIZE = "NumPy divides by a complex number that is real, which makes both parts of an infinite one NaN"
OF_SUMS = "the sign of a zero that is a sum of products depends on the order of the sum"
OPEN_SIGN = "C99 leaves the sign of a zero open where the other part is NaN"
PARTS = "complex numbers fill no intervals; NumPy drops a part"
EXEMPT = [
    Exempt(CHOICE, "maximum minimum fmax fmin clip max min amax amin clamp", "zero"),
    Exempt(ORDER, "sort partition sort_complex median nanmedian nanquantile nanpercentile quantile percentile", "zero"),
    Exempt("ml_dtypes gives -0.0 the sign -0.0", "sign", "zero", "bfloat16 float8_e4m3fn float8_e5m2"),
    Exempt("NumPy returns the first of two equal zeros for float16, and the second for others", "nextafter", "zero"),
    Exempt("XLA takes x + 0.0 for x, also if x is -0.0", "pad irfft hfft householder_product", "zero"),
    Exempt("subnormal numbers are zeros in compiled programs", "spacing gammainc", "value", "fiub"),
    Exempt("a rounded extreme integer is out of range: NumPy wraps it", "round around", "value", "iu"),
    Exempt("NumPy rounds pi x before the sine", "sinc", "value zero"),
    Exempt("NumPy's function of an infinity is NaN", "i0", "value", operands="infinite"),
    Exempt("NumPy adds integers of 4 bits in 8", "apply_over_axes", "type", "int4 uint4"),
    Exempt("both parts of NumPy's NaN are NaN", "median nanmedian", "value", "c", sizes="none"),
    Exempt("NumPy widens floats of 8 bits", "gradient", "refusal", "float8_e4m3fn float8_e5m2"),
    Exempt("NumPy's factor overflows", "i0", "value", "float16"),
    Exempt("elements that are all NaN give NumPy's result another dtype", "nanquantile nanpercentile", "type", "f"),
    Exempt("beside an infinity NumPy's result is NaN", "nanquantile nanpercentile", "value", "f", operands="infinite"),
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
        SINGULAR,
        "solve inv tensorsolve tensorinv cholesky matrix_power cho_factor",
        "refusal",
        "b",
    ),
    Exempt("NumPy's inverse of no elements takes any dtype", "pinv", "refusal", "float16 bfloat16", sizes="none"),
    Exempt(
        "NumPy divides by the size in half precision",
        "ifft ihfft ifft2 irfft2 ifftn irfftn",
        "value",
        "float16",
    ),
    Exempt("an eigenvalue of a singular matrix is a rounding error, and so is its root", "sqrtm", "value", "b"),
    Exempt(
        "the equation of two singular matrices has no one solution", "sylvester_solve solve_sylvester", "value", "b"
    ),
    Exempt("bools stand for places, which must be known", "ix_", "refusal", "b", "jit"),
    Exempt("NumPy's maximum refuses to reduce no elements", "apply_over_axes", "message", sizes="none"),
    Exempt("an index is known in evaluation alone", "take", "message", evaluators="jit", sizes="none"),
    Exempt("an empty list has floats, and means no indices", "ix_", "type", sizes="none"),
    Exempt("NumPy's dtype and order depend on the values of the roots", "roots", "type value zero class refusal"),
    Exempt("it is NumPy's function where nothing is traced", "vectorize frompyfunc", "class refusal"),
    Exempt(PARTS, "interp histogram histogram2d histogramdd histogram_bin_edges", "refusal", "c"),
    Exempt("a variance is real; NumPy drops the imaginary parts of the elements", "std var", "refusal", "c"),
    Exempt("NumPy cuts a remainder by its values, which are rounding errors", "polydiv", "type value zero", "fc"),
    Exempt("NumPy's covariance of no numbers is real", "cov corrcoef", "type", "c", sizes="none"),
    Exempt(
        "a negative float has no unsigned value",
        "astype convert_element_type threefry2x32 philox4x32 bincount",
        "value",
        "c",
    ),
    Exempt("the result is a constant", "adjugate approx_min_k", "class", evaluators="device", sizes="one none"),
    Exempt(OF_SUMS, "solve cho_solve cholesky vecmat", "zero", "c"),
    Exempt(OPEN_SIGN, "cos cosh", "zero", "c", operands="infinite"),
    Exempt(QUOTIENT, "div divide true_divide reciprocal", "value zero", "c", operands="zero infinite"),
    Exempt(BY_SIZE, "mean nanmean nanvar nanstd gradient", "value", "c", operands="infinite"),
    Exempt(BY_SIZE, "gradient", "zero", "c", operands="zero"),
    Exempt(PRODUCT, "prod reduce_prod dot matmul", "value", "c", operands="infinite"),
    Exempt("NumPy adds each product to 0", "einsum", "zero", "c", operands="zero"),
    Exempt("NumPy multiplies an infinity by zero", "expm1", "value", "c", operands="infinite"),
    Exempt(
        "for small integer exponents NumPy multiplies; otherwise C's power decides about infinities",
        "pow power float_power",
        "value zero",
        "c",
        operands="infinite",
    ),
    Exempt("NumPy multiplies for small integer exponents", "power", "zero", "c", operands="zero"),
]

PAGE = Path(__file__).parents[2] / "docs" / "evaluated_and_compiled.md"
START = "<!-- made by tests/laws/other_answers.py -->\n"


def table() -> str:
    """Return the exceptions as a table of the page."""
    lines = ["| function | difference | where | reason |", "| --- | --- | --- | --- |"]
    for exempt in EXEMPT:
        names = ", ".join(f"`{name}`" for name in exempt.names.split())
        kinds = ", ".join(KINDS[kind] for kind in exempt.kinds.split())
        lines.append(f"| {names} | {kinds} | {exempt.region()} | {exempt.reason} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """Return the text of the page with the present table."""
    return PAGE.read_text().partition(START)[0] + START + "\n" + table()


if __name__ == "__main__":
    PAGE.write_text(page())
