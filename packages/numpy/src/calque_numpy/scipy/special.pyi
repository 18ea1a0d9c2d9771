# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_numpy.scipy.probability import (
    expit as expit, logit as logit, xlogy as xlogy, xlog1py as xlog1py, entr as entr, rel_entr as rel_entr,
    kl_div as kl_div, erf as erf, erfc as erfc, erfinv as erfinv,
)
from calque_numpy.scipy.softmax import logsumexp as logsumexp, softmax as softmax, log_softmax as log_softmax
from calque_numpy.scipy.faddeeva import erfcx as erfcx, dawsn as dawsn, wofz as wofz, fresnel as fresnel
from calque_numpy.scipy.normal import ndtr as ndtr, log_ndtr as log_ndtr, ndtri as ndtri, owens_t as owens_t
from calque_numpy.scipy.powers import boxcox as boxcox, boxcox1p as boxcox1p
from calque_numpy.scipy.integrals import exp1 as exp1, expi as expi, expn as expn, sici as sici, spence as spence
from calque_numpy.scipy.gammas import (
    gamma as gamma, gammaln as gammaln, loggamma as loggamma, gammasgn as gammasgn, multigammaln as multigammaln,
    beta as beta, betaln as betaln, betainc as betainc, gammainc as gammainc, gammaincc as gammaincc,
)
from calque_numpy.scipy.polygammas import digamma as digamma, psi as psi, polygamma as polygamma, zeta as zeta
from calque_numpy.scipy.combinatorics import factorial as factorial, poch as poch, comb as comb, bernoulli as bernoulli
from calque_numpy.scipy.bessel import i0 as i0, i0e as i0e, i1 as i1, i1e as i1e, bessel_jn as bessel_jn
from calque_numpy.scipy.hypergeometric import hyp1f1 as hyp1f1
from calque_numpy.scipy.gauss import hyp2f1 as hyp2f1
from calque_numpy.scipy.spherical import sph_harm_y as sph_harm_y

__all__ = [
    "expit", "logit", "xlogy", "xlog1py", "entr", "rel_entr", "kl_div", "logsumexp", "softmax", "log_softmax", "erf",
    "erfc", "erfinv", "erfcx", "dawsn", "wofz", "fresnel", "ndtr", "log_ndtr", "ndtri", "owens_t", "boxcox", "boxcox1p",
    "exp1", "expi", "expn", "sici", "spence", "gamma", "gammaln", "loggamma", "gammasgn", "multigammaln", "beta",
    "betaln", "betainc", "gammainc", "gammaincc", "digamma", "psi", "polygamma", "zeta", "factorial", "poch", "comb",
    "bernoulli", "i0", "i0e", "i1", "i1e", "bessel_jn", "hyp1f1", "hyp2f1", "sph_harm_y",
]
