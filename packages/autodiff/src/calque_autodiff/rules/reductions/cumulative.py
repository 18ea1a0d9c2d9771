"""The derivatives of running reductions: a running sum is linear, products, maxima and minima are associative scans."""

from __future__ import annotations

from typing import Any

from calque_core.extend import deflinear, not_linear
from calque_core.lax import cumlogsumexp_p, cummax_p, cummin_p, cumprod_p, cumsum, cumsum_p

Value = Any

# An element is in the sums of all elements after it.
deflinear(cumsum_p, lambda ct, x, *, axis, reverse: [cumsum(ct, axis, not reverse)])
not_linear(cumprod_p, cummax_p, cummin_p, cumlogsumexp_p)
