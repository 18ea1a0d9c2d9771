"""Transformations with their own values."""
