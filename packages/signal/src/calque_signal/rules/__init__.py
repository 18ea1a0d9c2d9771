"""Derivative and batching rules, one module per family, of the same path as in `ops`."""
