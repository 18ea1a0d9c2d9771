"""Lowering rules, one module per family, of the same path as in `ops`; the backend imports them, and nobody else."""
