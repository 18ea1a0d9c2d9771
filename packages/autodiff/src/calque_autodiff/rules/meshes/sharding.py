"""The derivative of `sharding_constraint`: a tangent or a cotangent is divided as its value is."""

from __future__ import annotations

from calque_core.extend import deflinear
from calque_core.lax import sharding_constraint_p

deflinear(sharding_constraint_p, lambda ct, x, **how: [sharding_constraint_p.bind(ct, **how)])
