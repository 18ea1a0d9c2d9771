# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_special.ops.sums import summed as summed, where_any as where_any
from calque_special.ops.deviances import deviance as deviance, damping as damping
from calque_special.ops.gamma import (
    gamma_of as gamma_of, gamma_factors as gamma_factors, stirling_series as stirling_series,
)
from calque_special.ops.incomplete import log_sample_slopes as log_sample_slopes
from calque_special.ops.scaled_erfc import (
    scaled_erfc_slope as scaled_erfc_slope, SCALED_ERFC_REGIONS as SCALED_ERFC_REGIONS,
)
from calque_special.ops.gamma_regions import GAMMA_REGIONS as GAMMA_REGIONS
from calque_special.ops.bessel_regions import I0_REGIONS as I0_REGIONS, I1_REGIONS as I1_REGIONS

__all__ = [
    "summed", "where_any", "deviance", "damping", "gamma_of", "gamma_factors", "stirling_series", "log_sample_slopes",
    "scaled_erfc_slope", "GAMMA_REGIONS", "I0_REGIONS", "I1_REGIONS", "SCALED_ERFC_REGIONS",
]
