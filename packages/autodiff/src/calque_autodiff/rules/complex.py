"""The derivatives of parts, conjugates and putting together: all linear over the reals.

One idea: complex numbers are pairs of reals to a derivative.  Tangents are pairs like their primals; the cotangent u of
a number pairs with its tangent v as the real part of u v, without conjugation.  So the cotangent of x + i y is one of x
less i times one of y, a holomorphic function multiplies cotangents by its derivative, and every formula for real
numbers holds for complex ones as it stands.  What is conjugated is said here, and in the rule of `abs`.
"""

from __future__ import annotations

from calque_autodiff.define import deflinear
from calque_autodiff.rules.elementwise import summed_to
from calque_core import typeof
from calque_core.lax import complex, complex_p, conj, conj_p, imag, imag_p, neg, real, real_p

# Parts: Re(u (v + i w)) = u v for the real part v, and Re(-i u (v + i w)) = u w for the imaginary part w.

deflinear(real_p, lambda ct, x: [complex(ct, typeof(ct).dtype.type(0))])
deflinear(imag_p, lambda ct, x: [complex(typeof(ct).dtype.type(0), neg(ct))])

# Conjugates: Re(u conj(v)) = Re(conj(u) v).

deflinear(conj_p, lambda ct, x: [conj(ct)])

# Putting together: Re(u (v + i w)) = Re(u) v - Im(u) w.

deflinear(complex_p, lambda ct, x, y: [summed_to(real(ct), x), summed_to(neg(imag(ct)), y)])
