# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_harvest.sowing import sow as sow, sow_cotangent as sow_cotangent
from calque_harvest.nesting import nest as nest
from calque_harvest.verbs import harvest as harvest, reap as reap, call_and_reap as call_and_reap, plant as plant
from calque_harvest.harvest_trace import HarvestTrace as HarvestTrace
from calque_harvest.marks import (
    site_p as site_p, site_tangent_p as site_tangent_p, sow_p as sow_p, sow_cotangent_p as sow_cotangent_p,
)

__version__: str

__all__ = [
    "sow", "sow_cotangent", "nest", "harvest", "reap", "call_and_reap", "plant", "HarvestTrace", "site_p",
    "site_tangent_p", "sow_p", "sow_cotangent_p",
]
