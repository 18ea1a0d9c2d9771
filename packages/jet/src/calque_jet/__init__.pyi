# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_jet.expansion import jet as jet
from calque_jet.jaxprs import jet_jaxpr as jet_jaxpr
from calque_jet.jet_trace import JetTrace as JetTrace, JetTracer as JetTracer

__version__: str

__all__ = [
    "jet", "jet_jaxpr", "JetTrace", "JetTracer",
]
