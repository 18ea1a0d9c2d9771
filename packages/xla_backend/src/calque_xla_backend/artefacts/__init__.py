"""Exported functions: their bytes, their trees, and the operation that calls them."""
