"""jet: derivatives of any order along a curve, by Taylor series, at a cost that grows with the square of the order.

    >>> from calque_core import lax
    >>> from calque_jet import jet
    >>> jet(lax.exp, (0.0,), ([1.0, 0, 0],))
    (np.float64(1.0), [np.float64(1.0), np.float64(1.0), np.float64(1.0)])

For users: `jet`.  For authors of primitives: the rule kind "jet", `primitive.def_rule("jet", rule)`, or a declaration
that the primitive is linear, bilinear or constant; `calque_jet.series` has the arithmetic of such rules.  For authors
of transformations: `JetTrace`, and `jet_jaxpr` for programs.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_names as _late_names
from calque_jet import rules
from calque_jet.expansion import jet
from calque_jet.jaxprs import jet_jaxpr
from calque_jet.jet_trace import JetTrace, JetTracer

_register_internal_folder(__path__[0])

__version__ = "0.1.0"

__all__ = [
    # for users
    "jet",
    # for authors of transformations
    "jet_jaxpr", "JetTrace", "JetTracer",
]  # fmt: skip

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, {})
