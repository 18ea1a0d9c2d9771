"""What NumPy and Python ask of an array: operators, methods, indices, NumPy's functions."""
