"""What other packages make special functions of: series, densities, sums, and tables for evaluation on arrays.

These are parts of formulas (`calque_core.extend.declare_formula`).  They may change in any release, as
`calque_core.extend` says of its own.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core.extend import late_names as _late_names

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_special.ops.bessel_regions import I0_REGIONS, I1_REGIONS
    from calque_special.ops.deviances import damping, deviance
    from calque_special.ops.gamma import gamma_factors, gamma_of, stirling_series
    from calque_special.ops.gamma_regions import GAMMA_REGIONS
    from calque_special.ops.incomplete import log_sample_slopes
    from calque_special.ops.scaled_erfc import SCALED_ERFC_REGIONS, scaled_erfc_slope
    from calque_special.ops.sums import summed, where_any
# isort: on
# fmt: on

_LATE = {
    "calque_special.ops.bessel_regions": "I0_REGIONS, I1_REGIONS",
    "calque_special.ops.deviances": "damping, deviance",
    "calque_special.ops.gamma": "gamma_factors, gamma_of, stirling_series",
    "calque_special.ops.gamma_regions": "GAMMA_REGIONS",
    "calque_special.ops.incomplete": "log_sample_slopes",
    "calque_special.ops.scaled_erfc": "SCALED_ERFC_REGIONS, scaled_erfc_slope",
    "calque_special.ops.sums": "summed, where_any",
}

__all__ = [
    # sums of as many terms as they need, and methods by element
    "summed", "where_any",
    # densities
    "deviance", "damping",
    # the gamma function, and the derivatives of samples
    "gamma_of", "gamma_factors", "stirling_series", "log_sample_slopes",
    # the scaled complementary error function
    "scaled_erfc_slope",
    # regions of functions, for their evaluation
    "GAMMA_REGIONS", "I0_REGIONS", "I1_REGIONS", "SCALED_ERFC_REGIONS",
]  # fmt: skip

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, _LATE)
