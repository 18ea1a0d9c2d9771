# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_special.ops.gamma import (
    lgamma as lgamma, digamma as digamma, polygamma as polygamma, zeta as zeta, lgamma_p as lgamma_p,
    digamma_p as digamma_p, polygamma_p as polygamma_p, zeta_p as zeta_p,
)
from calque_special.ops.incomplete import (
    igamma as igamma, igammac as igammac, igamma_grad_a as igamma_grad_a, random_gamma_grad as random_gamma_grad,
    igamma_p as igamma_p, igammac_p as igammac_p, igamma_grad_a_p as igamma_grad_a_p,
    random_gamma_grad_p as random_gamma_grad_p,
)
from calque_special.ops.incomplete_beta import (
    betainc as betainc, regularized_incomplete_beta_p as regularized_incomplete_beta_p,
)
from calque_special.ops.bessel import (
    bessel_i0e as bessel_i0e, bessel_i1e as bessel_i1e, bessel_i0e_p as bessel_i0e_p, bessel_i1e_p as bessel_i1e_p,
)

__version__: str

__all__ = [
    "lgamma", "digamma", "polygamma", "zeta", "lgamma_p", "digamma_p", "polygamma_p", "zeta_p", "igamma", "igammac",
    "igamma_grad_a", "random_gamma_grad", "igamma_p", "igammac_p", "igamma_grad_a_p", "random_gamma_grad_p", "betainc",
    "regularized_incomplete_beta_p", "bessel_i0e", "bessel_i1e", "bessel_i0e_p", "bessel_i1e_p",
]
