"""Special functions with all their rules: gamma, Bessel, zeta, incomplete gamma and beta functions.

A family of `calque_core.lax`, in a package on core alone.  A primitive with its type rule and its evaluation by NumPy
is in `ops`; its rules are in modules of the same path: those for derivatives and batches in `rules`, for Taylor series
in `series`.  They are imported when a transformation first meets the primitive.  Compiled programs have its formula.

Read next: `kit.py`, tools for special functions of other packages.
"""

from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_chapters as _late_chapters
from calque_core.extend import rules_by_family as _rules_by_family

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "the gamma function's logarithm and its derivatives, and zeta": {
        "calque_special.ops.gamma": "lgamma, digamma, polygamma, zeta, lgamma_p, digamma_p, polygamma_p, zeta_p",
    },
    "incomplete gamma functions, and derivatives in the order": {
        "calque_special.ops.incomplete": (
            "igamma, igammac, igamma_grad_a, random_gamma_grad, igamma_p, igammac_p, igamma_grad_a_p, "
            "random_gamma_grad_p"
        ),
    },
    "the incomplete beta function": {"calque_special.ops.incomplete_beta": "betainc, regularized_incomplete_beta_p"},
    "Bessel functions": {"calque_special.ops.bessel": "bessel_i0e, bessel_i1e, bessel_i0e_p, bessel_i1e_p"},
}

_register_internal_folder(__path__[0])
_OPS = f"{__name__}.ops"
_rules_by_family(
    f"{__name__}.rules", of=_OPS, kinds=("jvp", "transpose", "partial_eval", "every_size", "batch", "axis_batch")
)
_rules_by_family(f"{__name__}.series", of=_OPS, kinds=("jet",), reader="calque_jet")

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
