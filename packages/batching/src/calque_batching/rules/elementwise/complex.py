"""Batching the operations of `calque_core.ops.elementwise.complex`: the batch axis is one more axis."""

from __future__ import annotations

from calque_core.extend import defbroadcasting, defvectorized
from calque_core.lax import complex_p, conj_p, imag_p, real_p

defvectorized(real_p, imag_p)
defvectorized(conj_p)
defbroadcasting(complex_p)
