"""Laplacians of functions of many inputs, in one forward pass.

`laplacian(f)(x)` is the sum of the second derivatives of f; `forward_laplacian` returns the value and the gradient with
it.  The other names are for authors of primitives: `primitive.def_rule("laplacian", rule)` and its short forms.
"""

from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_chapters as _late_chapters
from calque_core.extend import rules_by_family as _rules_by_family

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "Laplacians": {"calque_laplacian.forward": "laplacian, forward_laplacian, ForwardLaplacian"},
    "rules of primitives": {
        "calque_laplacian.triple": "Triple, InnerProduct, defelementwise",
        "calque_laplacian.linear": "deflinear",
        "calque_laplacian.laplacian_trace": "LaplacianTrace",
    },
}

_register_internal_folder(__path__[0])
_rules_by_family(f"{__name__}.rules.linalg", of="calque_linalg.ops", kinds=("laplacian",))

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
