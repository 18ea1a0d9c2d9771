"""Intermediate values of a program, by name: sow, harvest, plant.

    >>> from calque_harvest import call_and_reap, sow
    >>> call_and_reap(lambda x: sow(x + 1.0, name="y") * 2.0)(1.0)
    (4.0, {'y': np.float64(2.0)})

For users: `sow` and `sow_cotangent` name a value; `harvest`, `reap`, `call_and_reap` and `plant` read and replace named
values; `nest` puts names below others.  For authors of primitives that hold programs: the rule kind "harvest".
"""

from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_chapters as _late_chapters

_register_internal_folder(__path__[0])

__version__ = "0.1.0"

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "names for values": {
        "calque_harvest.sowing": "sow, sow_cotangent",
        "calque_harvest.nesting": "nest",
    },
    "the values of names": {
        "calque_harvest.verbs": "harvest, reap, call_and_reap, plant",
    },
    "for authors of transformations and primitives": {
        "calque_harvest.harvest_trace": "HarvestTrace",
        "calque_harvest.marks": "site_p, site_tangent_p, sow_p, sow_cotangent_p",
    },
}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
