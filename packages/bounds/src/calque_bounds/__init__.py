"""Verified bounds of functions, by intervals and Taylor enclosures.

    >>> import numpy as np
    >>> from calque_bounds import bounds
    >>> lower, upper = bounds(np.exp)(0.0, 1.0)
    >>> bool(lower <= 1.0 < 2.718281828459045 <= upper)
    True

For users: `bounds` and `taylor_bounds`.  For authors of primitives: the rule kinds "bounds", from intervals to an
interval, and "taylor", from series to a series.
"""

from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_chapters as _late_chapters

_register_internal_folder(__path__[0])

__version__ = "0.1.0"

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "for users": {"calque_bounds.enclosure": "bounds, taylor_bounds, Taylor"},
    "for authors of rules": {
        "calque_bounds.interval": "Interval, outward",
        "calque_bounds.table": "def_growing",
        "calque_bounds.bounds_trace": "BoundsTrace",
        "calque_bounds.taylor_trace": "TaylorTrace",
    },
}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
