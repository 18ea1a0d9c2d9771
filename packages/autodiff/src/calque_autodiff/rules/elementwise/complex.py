"""The derivatives of `real`, `imag`, `conj` and `complex`: all linear over the reals.

One idea: a derivative treats complex numbers as pairs of reals.  Tangents are pairs like their primals; the product of
a cotangent u and a tangent v is the real part of u v, without conjugation.  So the cotangent of x + i y is x_bar - i
y_bar, a holomorphic function multiplies cotangents by its derivative, and every formula for real numbers holds for
complex numbers.  Conjugation occurs only here, and in the rule of `abs`.
"""

from __future__ import annotations

from calque_autodiff.rules.elementwise.arithmetic import summed_to
from calque_core import typeof
from calque_core.extend import deflinear
from calque_core.lax import complex, complex_p, conj, conj_p, imag, imag_p, neg, real, real_p

# Parts: Re(u (v + i w)) = u v for the real part v, and Re(-i u (v + i w)) = u w for the imaginary part w.

deflinear(real_p, lambda ct, x: [complex(ct, typeof(ct).dtype.type(0))])
deflinear(imag_p, lambda ct, x: [complex(typeof(ct).dtype.type(0), neg(ct))])

# Conjugates: Re(u conj(v)) = Re(conj(u) v).

deflinear(conj_p, lambda ct, x: [conj(ct)])

# `complex`: Re(u (v + i w)) = Re(u) v - Im(u) w.

deflinear(complex_p, lambda ct, x, y: [summed_to(real(ct), x), summed_to(neg(imag(ct)), y)])
