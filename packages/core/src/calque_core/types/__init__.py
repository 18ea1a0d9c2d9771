"""Types of arrays: abstract values, dtypes, methods."""
