"""Convolutions, windows and Fourier transforms with all their rules.

A family of `calque_core.lax`, in a package on core alone.  A primitive with its type rule and its evaluation by NumPy
is in `ops`; its rules are in modules of the same path: those for derivatives and batches in `rules`, for Taylor series
in `series`, for compilation in `lowerings`.  They are imported when a transformation first meets the primitive.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_names as _late_names
from calque_core.extend import rules_by_family as _rules_by_family

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_signal.ops.convolution import conv_general_dilated, conv_general_dilated_p
    from calque_signal.ops.convolution_forms import (
        conv, conv_general_dilated_local, conv_general_dilated_patches, conv_transpose, conv_with_general_padding,
    )
    from calque_signal.ops.convolution_layouts import (
        ConvDimensionNumbers, ConvGeneralDilatedDimensionNumbers, conv_dimension_numbers,
    )
    from calque_signal.ops.fft import FftType, fft, fft_p
    from calque_signal.ops.paddings import padtype_to_pads
    from calque_signal.ops.reduce_window import (
        reduce_window, reduce_window_max_p, reduce_window_min_p, reduce_window_p, reduce_window_sum_p,
    )
    from calque_signal.ops.select_and_scatter import (
        select_and_gather_add, select_and_gather_add_p, select_and_scatter, select_and_scatter_add,
        select_and_scatter_add_p, select_and_scatter_p,
    )
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_signal.ops.convolution": "conv_general_dilated, conv_general_dilated_p",
    "calque_signal.ops.convolution_forms": (
        "conv, conv_general_dilated_local, conv_general_dilated_patches, conv_transpose, conv_with_general_padding"
    ),
    "calque_signal.ops.convolution_layouts": (
        "ConvDimensionNumbers, ConvGeneralDilatedDimensionNumbers, conv_dimension_numbers"
    ),
    "calque_signal.ops.fft": "FftType, fft, fft_p",
    "calque_signal.ops.paddings": "padtype_to_pads",
    "calque_signal.ops.reduce_window": (
        "reduce_window, reduce_window_max_p, reduce_window_min_p, reduce_window_p, reduce_window_sum_p"
    ),
    "calque_signal.ops.select_and_scatter": (
        "select_and_gather_add, select_and_gather_add_p, select_and_scatter, select_and_scatter_add, "
        "select_and_scatter_add_p, select_and_scatter_p"
    ),
}

_register_internal_folder(__path__[0])
_OPS = f"{__name__}.ops"
_rules_by_family(
    f"{__name__}.rules", of=_OPS, kinds=("jvp", "transpose", "partial_eval", "every_size", "batch", "axis_batch")
)
_rules_by_family(f"{__name__}.series", of=_OPS, kinds=("jet",))
_rules_by_family(f"{__name__}.lowerings", of=_OPS, kinds=("lowering",))

__version__ = "0.1.0"

__all__ = [
    # Fourier transforms
    "fft", "FftType", "fft_p",
    # convolution
    "conv_general_dilated", "conv", "conv_with_general_padding", "conv_transpose", "conv_general_dilated_patches",
    "conv_general_dilated_local", "conv_dimension_numbers", "ConvDimensionNumbers",
    "ConvGeneralDilatedDimensionNumbers", "conv_general_dilated_p",
    # windows that slide over an array
    "padtype_to_pads", "reduce_window", "reduce_window_p", "reduce_window_sum_p", "reduce_window_max_p",
    "reduce_window_min_p", "select_and_gather_add", "select_and_scatter_add", "select_and_scatter",
    "select_and_gather_add_p", "select_and_scatter_add_p", "select_and_scatter_p",
]  # fmt: skip

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, _LATE)
