"""Lowering of the real and imaginary parts, conjugates and construction of complex numbers."""

from __future__ import annotations

from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core.lax import complex_p, conj_p, imag_p, real_p
from calque_xla_backend.define import elementwise

elementwise(real_p, hlo.real)
elementwise(imag_p, hlo.imag)
elementwise(conj_p, lambda x: hlo.complex(hlo.real(x), hlo.negate(hlo.imag(x))))
elementwise(complex_p, hlo.complex)
