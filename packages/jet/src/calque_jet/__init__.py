"""jet: derivatives of any order along a curve, by Taylor series, at a cost that grows with the square of the order.

    >>> from calque_core import lax
    >>> from calque_jet import jet
    >>> jet(lax.exp, (0.0,), ([1.0, 0, 0],))
    (np.float64(1.0), [np.float64(1.0), np.float64(1.0), np.float64(1.0)])

For users: `jet`.  For authors of primitives: the rule kind "jet", `primitive.def_rule("jet", rule)`, or a declaration
that the primitive is linear, bilinear or constant; `calque_jet.series` has the arithmetic of such rules.  For authors
of transformations: `JetTrace`, and `jet_jaxpr` for programs.
"""

from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_chapters as _late_chapters
from calque_jet import rules

_register_internal_folder(__path__[0])

__version__ = "0.1.0"

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "for users": {"calque_jet.expansion": "jet"},
    "for authors of transformations": {
        "calque_jet.jaxprs": "jet_jaxpr",
        "calque_jet.jet_trace": "JetTrace, JetTracer",
    },
}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
