"""The transformations: vmap, map, and classes that can be mapped."""
