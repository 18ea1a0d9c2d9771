# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_bounds.enclosure import bounds as bounds, taylor_bounds as taylor_bounds, Taylor as Taylor
from calque_bounds.interval import Interval as Interval, outward as outward
from calque_bounds.table import def_growing as def_growing
from calque_bounds.bounds_trace import BoundsTrace as BoundsTrace
from calque_bounds.taylor_trace import TaylorTrace as TaylorTrace

__version__: str

__all__ = [
    "bounds", "taylor_bounds", "Taylor", "Interval", "outward", "def_growing", "BoundsTrace", "TaylorTrace",
]
