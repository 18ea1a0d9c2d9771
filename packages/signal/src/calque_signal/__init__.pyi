# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_signal.ops.fft import fft as fft, FftType as FftType, fft_p as fft_p
from calque_signal.ops.convolution import (
    conv_general_dilated as conv_general_dilated, conv_general_dilated_p as conv_general_dilated_p,
)
from calque_signal.ops.convolution_forms import (
    conv as conv, conv_with_general_padding as conv_with_general_padding, conv_transpose as conv_transpose,
    conv_general_dilated_patches as conv_general_dilated_patches,
    conv_general_dilated_local as conv_general_dilated_local,
)
from calque_signal.ops.convolution_layouts import (
    conv_dimension_numbers as conv_dimension_numbers, ConvDimensionNumbers as ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers,
)
from calque_signal.ops.paddings import padtype_to_pads as padtype_to_pads
from calque_signal.ops.reduce_window import (
    reduce_window as reduce_window, reduce_window_p as reduce_window_p, reduce_window_sum_p as reduce_window_sum_p,
    reduce_window_max_p as reduce_window_max_p, reduce_window_min_p as reduce_window_min_p,
)
from calque_signal.ops.select_and_scatter import (
    select_and_gather_add as select_and_gather_add, select_and_scatter_add as select_and_scatter_add,
    select_and_scatter as select_and_scatter, select_and_gather_add_p as select_and_gather_add_p,
    select_and_scatter_add_p as select_and_scatter_add_p, select_and_scatter_p as select_and_scatter_p,
)

__version__: str

__all__ = [
    "fft", "FftType", "fft_p", "conv_general_dilated", "conv_general_dilated_p", "conv", "conv_with_general_padding",
    "conv_transpose", "conv_general_dilated_patches", "conv_general_dilated_local", "conv_dimension_numbers",
    "ConvDimensionNumbers", "ConvGeneralDilatedDimensionNumbers", "padtype_to_pads", "reduce_window", "reduce_window_p",
    "reduce_window_sum_p", "reduce_window_max_p", "reduce_window_min_p", "select_and_gather_add",
    "select_and_scatter_add", "select_and_scatter", "select_and_gather_add_p", "select_and_scatter_add_p",
    "select_and_scatter_p",
]
