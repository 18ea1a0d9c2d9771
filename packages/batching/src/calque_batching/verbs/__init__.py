"""The transformations: vmap, map, and batching rules of one function."""
