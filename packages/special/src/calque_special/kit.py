"""Tools for special functions of other packages: series, densities, sums, and tables for evaluation on arrays.

These are parts of formulas (`calque_core.engine.declare_formula`).  They may change in any release, as the names of
`calque_core.engine` may.
"""

from calque_core.extend import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "sums of as many terms as they need, and methods by element": {"calque_special.ops.sums": "summed, where_any"},
    "densities": {"calque_special.ops.deviances": "deviance, damping"},
    "the gamma function, and the derivatives of samples": {
        "calque_special.ops.gamma": "gamma_of, gamma_factors, stirling_series",
        "calque_special.ops.incomplete": "log_sample_slopes",
    },
    "the scaled complementary error function": {"calque_special.ops.scaled_erfc": "scaled_erfc_slope"},
    "regions of functions, for their evaluation": {
        "calque_special.ops.gamma_regions": "GAMMA_REGIONS",
        "calque_special.ops.bessel_regions": "I0_REGIONS, I1_REGIONS",
        "calque_special.ops.scaled_erfc": "SCALED_ERFC_REGIONS",
    },
}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
