"""Special functions by scipy's names, also of traced arrays.

Read next: `probability.py`, `softmax.py`, `gammas.py`, `faddeeva.py`; `floats.py` for the operands, `slopes.py` for
derivatives.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core.extend import late_names as _late_names

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_numpy.scipy.bessel import bessel_jn, i0, i0e, i1, i1e
    from calque_numpy.scipy.combinatorics import bernoulli, comb, factorial, poch
    from calque_numpy.scipy.faddeeva import dawsn, erfcx, fresnel, wofz
    from calque_numpy.scipy.gammas import (
        beta, betainc, betaln, digamma, gamma, gammainc, gammaincc, gammaln, gammasgn, loggamma, multigammaln,
        polygamma, psi, zeta,
    )
    from calque_numpy.scipy.gauss import hyp2f1
    from calque_numpy.scipy.hypergeometric import hyp1f1
    from calque_numpy.scipy.integrals import exp1, expi, expn, sici, spence
    from calque_numpy.scipy.normal import log_ndtr, ndtr, ndtri, owens_t
    from calque_numpy.scipy.powers import boxcox, boxcox1p
    from calque_numpy.scipy.probability import entr, erf, erfc, erfinv, expit, kl_div, logit, rel_entr, xlog1py, xlogy
    from calque_numpy.scipy.softmax import log_softmax, logsumexp, softmax
    from calque_numpy.scipy.spherical import sph_harm_y
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_numpy.scipy.bessel": "bessel_jn, i0, i0e, i1, i1e",
    "calque_numpy.scipy.combinatorics": "bernoulli, comb, factorial, poch",
    "calque_numpy.scipy.faddeeva": "dawsn, erfcx, fresnel, wofz",
    "calque_numpy.scipy.gammas": (
        "beta, betainc, betaln, digamma, gamma, gammainc, gammaincc, gammaln, gammasgn, loggamma, multigammaln, "
        "polygamma, psi, zeta"
    ),
    "calque_numpy.scipy.gauss": "hyp2f1",
    "calque_numpy.scipy.hypergeometric": "hyp1f1",
    "calque_numpy.scipy.integrals": "exp1, expi, expn, sici, spence",
    "calque_numpy.scipy.normal": "log_ndtr, ndtr, ndtri, owens_t",
    "calque_numpy.scipy.powers": "boxcox, boxcox1p",
    "calque_numpy.scipy.probability": "entr, erf, erfc, erfinv, expit, kl_div, logit, rel_entr, xlog1py, xlogy",
    "calque_numpy.scipy.softmax": "log_softmax, logsumexp, softmax",
    "calque_numpy.scipy.spherical": "sph_harm_y",
}

__all__ = [
    "expit", "logit", "logsumexp", "softmax", "log_softmax",
    "erf", "erfc", "erfinv", "erfcx", "dawsn", "wofz", "fresnel",
    "ndtr", "log_ndtr", "ndtri", "owens_t", "boxcox", "boxcox1p",
    "xlogy", "xlog1py", "entr", "rel_entr", "kl_div",
    "exp1", "expi", "expn", "sici", "spence",
    "gamma", "gammaln", "loggamma", "gammasgn", "multigammaln", "factorial", "poch", "comb", "bernoulli",
    "beta", "betaln", "betainc", "gammainc", "gammaincc",
    "digamma", "psi", "polygamma", "zeta",
    "i0", "i0e", "i1", "i1e", "bessel_jn", "hyp1f1", "hyp2f1", "sph_harm_y",
]  # fmt: skip

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, _LATE)
