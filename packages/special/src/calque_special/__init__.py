"""Special functions with all their rules: gamma, Bessel, zeta, incomplete gamma and beta functions.

A family of `calque_core.lax`, in a package on core alone.  A primitive with its type rule and its evaluation by NumPy
is in `ops`; its rules are in modules of the same path: those for derivatives and batches in `rules`, for Taylor series
in `series`.  They are imported when a transformation first meets the primitive.  Compiled programs have its formula.

Read next: `kit.py`, what other packages make special functions of.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_names as _late_names
from calque_core.extend import rules_by_family as _rules_by_family

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_special.ops.bessel import bessel_i0e, bessel_i0e_p, bessel_i1e, bessel_i1e_p
    from calque_special.ops.gamma import digamma, digamma_p, lgamma, lgamma_p, polygamma, polygamma_p, zeta, zeta_p
    from calque_special.ops.incomplete import (
        igamma, igamma_grad_a, igamma_grad_a_p, igamma_p, igammac, igammac_p, random_gamma_grad, random_gamma_grad_p,
    )
    from calque_special.ops.incomplete_beta import betainc, regularized_incomplete_beta_p
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_special.ops.bessel": "bessel_i0e, bessel_i0e_p, bessel_i1e, bessel_i1e_p",
    "calque_special.ops.gamma": "digamma, digamma_p, lgamma, lgamma_p, polygamma, polygamma_p, zeta, zeta_p",
    "calque_special.ops.incomplete": (
        "igamma, igamma_grad_a, igamma_grad_a_p, igamma_p, igammac, igammac_p, random_gamma_grad, random_gamma_grad_p"
    ),
    "calque_special.ops.incomplete_beta": "betainc, regularized_incomplete_beta_p",
}

_register_internal_folder(__path__[0])
_OPS = f"{__name__}.ops"
_rules_by_family(
    f"{__name__}.rules", of=_OPS, kinds=("jvp", "transpose", "partial_eval", "every_size", "batch", "axis_batch")
)
_rules_by_family(f"{__name__}.series", of=_OPS, kinds=("jet",))

__version__ = "0.1.0"

__all__ = [
    # the gamma function's logarithm and its derivatives, and zeta
    "lgamma", "digamma", "polygamma", "zeta", "lgamma_p", "digamma_p", "polygamma_p", "zeta_p",
    # incomplete gamma functions, and derivatives in the order
    "igamma", "igammac", "igamma_grad_a", "random_gamma_grad", "igamma_p", "igammac_p", "igamma_grad_a_p",
    "random_gamma_grad_p",
    # the incomplete beta function
    "betainc", "regularized_incomplete_beta_p",
    # Bessel functions
    "bessel_i0e", "bessel_i1e", "bessel_i0e_p", "bessel_i1e_p",
]  # fmt: skip

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, _LATE)
