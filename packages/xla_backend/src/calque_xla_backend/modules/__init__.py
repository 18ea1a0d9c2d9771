"""From jaxprs to modules of StableHLO."""
