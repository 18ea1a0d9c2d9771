"""Convolutions, windows and Fourier transforms with all their rules.

A family of `calque_core.lax`, in a package on core alone.  A primitive with its type rule and its evaluation by NumPy
is in `ops`; its rules are in modules of the same path: those for derivatives and batches in `rules`, for Taylor series
in `series`, for compilation in `lowerings`.  They are imported when a transformation first meets the primitive.
"""

from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_chapters as _late_chapters
from calque_core.extend import rules_by_family as _rules_by_family

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "Fourier transforms": {"calque_signal.ops.fft": "fft, FftType, fft_p"},
    "convolution": {
        "calque_signal.ops.convolution": "conv_general_dilated, conv_general_dilated_p",
        "calque_signal.ops.convolution_forms": (
            "conv, conv_with_general_padding, conv_transpose, conv_general_dilated_patches, conv_general_dilated_local"
        ),
        "calque_signal.ops.convolution_layouts": (
            "conv_dimension_numbers, ConvDimensionNumbers, ConvGeneralDilatedDimensionNumbers"
        ),
    },
    "windows that slide over an array": {
        "calque_signal.ops.paddings": "padtype_to_pads",
        "calque_signal.ops.reduce_window": (
            "reduce_window, reduce_window_p, reduce_window_sum_p, reduce_window_max_p, reduce_window_min_p"
        ),
        "calque_signal.ops.select_and_scatter": (
            "select_and_gather_add, select_and_scatter_add, select_and_scatter, select_and_gather_add_p, "
            "select_and_scatter_add_p, select_and_scatter_p"
        ),
    },
}

_register_internal_folder(__path__[0])
_OPS = f"{__name__}.ops"
_rules_by_family(
    f"{__name__}.rules", of=_OPS, kinds=("jvp", "transpose", "partial_eval", "every_size", "batch", "axis_batch")
)
_rules_by_family(f"{__name__}.series", of=_OPS, kinds=("jet",), reader="calque_jet")
_rules_by_family(f"{__name__}.lowerings", of=_OPS, kinds=("lowering",), reader="calque_xla_backend")

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
