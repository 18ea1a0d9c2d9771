"""Reductions, running reductions and products."""
