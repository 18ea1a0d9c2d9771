"""Special functions with all their rules: gamma, Bessel, zeta, incomplete gamma and beta functions.

A family of `calque_core.lax`, in a package on core alone.  A primitive with its type rule and its evaluation by NumPy
is in `ops`; its rules are in modules of the same path: those for derivatives and batches in `rules`, for Taylor series
in `series`, for compilation in `lowerings`.  They are imported when a transformation first meets the primitive.
"""

from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import rules_by_family as _rules_by_family

_register_internal_folder(__path__[0])
_OPS = f"{__name__}.ops"
_rules_by_family(
    f"{__name__}.rules", of=_OPS, kinds=("jvp", "transpose", "partial_eval", "every_size", "batch", "axis_batch")
)
_rules_by_family(f"{__name__}.series", of=_OPS, kinds=("jet",))
_rules_by_family(f"{__name__}.lowerings", of=_OPS, kinds=("lowering",))

__version__ = "0.1.0"

__all__: list[str] = []
