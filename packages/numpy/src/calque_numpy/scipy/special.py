"""Special functions by scipy's names, also of traced arrays.

Read next: `probability.py`, `softmax.py`, `gammas.py`, `faddeeva.py`; `floats.py` for the operands, `slopes.py` for
derivatives.
"""

from calque_core.extend import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "probabilities and their weights": {
        "calque_numpy.scipy.probability": "expit, logit, xlogy, xlog1py, entr, rel_entr, kl_div",
        "calque_numpy.scipy.softmax": "logsumexp, softmax, log_softmax",
    },
    "error functions and the normal distribution": {
        "calque_numpy.scipy.probability": "erf, erfc, erfinv",
        "calque_numpy.scipy.faddeeva": "erfcx, dawsn, wofz, fresnel",
        "calque_numpy.scipy.normal": "ndtr, log_ndtr, ndtri, owens_t",
        "calque_numpy.scipy.powers": "boxcox, boxcox1p",
    },
    "integrals": {"calque_numpy.scipy.integrals": "exp1, expi, expn, sici, spence"},
    "gamma functions and their relatives": {
        "calque_numpy.scipy.gammas": (
            "gamma, gammaln, loggamma, gammasgn, multigammaln, beta, betaln, betainc, gammainc, gammaincc"
        ),
        "calque_numpy.scipy.polygammas": "digamma, psi, polygamma, zeta",
        "calque_numpy.scipy.combinatorics": "factorial, poch, comb, bernoulli",
    },
    "Bessel, hypergeometric and spherical functions": {
        "calque_numpy.scipy.bessel": "i0, i0e, i1, i1e, bessel_jn",
        "calque_numpy.scipy.hypergeometric": "hyp1f1",
        "calque_numpy.scipy.gauss": "hyp2f1",
        "calque_numpy.scipy.spherical": "sph_harm_y",
    },
}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
