"""Transformations with values of their own."""
