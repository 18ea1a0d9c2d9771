"""Special functions by scipy's names, also of traced arrays.

Read next: `probability.py`, `softmax.py`, `gammas.py`; `floats.py` for the operands.
"""

from __future__ import annotations

from calque_numpy.scipy.gammas import (
    beta,
    betainc,
    betaln,
    digamma,
    factorial,
    gamma,
    gammainc,
    gammaincc,
    gammaln,
    gammasgn,
    i0,
    i0e,
    i1,
    i1e,
    loggamma,
    multigammaln,
    poch,
    polygamma,
    psi,
    zeta,
)
from calque_numpy.scipy.probability import (
    entr,
    erf,
    erfc,
    erfinv,
    expit,
    kl_div,
    log_ndtr,
    logit,
    ndtr,
    rel_entr,
    xlog1py,
    xlogy,
)
from calque_numpy.scipy.softmax import log_softmax, logsumexp, softmax

__all__ = [
    "expit", "logit", "logsumexp", "softmax", "log_softmax",
    "erf", "erfc", "erfinv", "ndtr", "log_ndtr",
    "xlogy", "xlog1py", "entr", "rel_entr", "kl_div",
    "gamma", "gammaln", "loggamma", "gammasgn", "factorial", "poch", "multigammaln",
    "beta", "betaln", "betainc", "gammainc", "gammaincc",
    "digamma", "psi", "polygamma", "zeta",
    "i0", "i0e", "i1", "i1e",
]  # fmt: skip
