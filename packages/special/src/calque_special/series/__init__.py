"""Taylor rules, one module per family, of the same path as in `ops`; `calque_jet` imports them, and nobody else."""
