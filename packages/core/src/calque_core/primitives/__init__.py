"""Primitives, and the tables of their rules."""
