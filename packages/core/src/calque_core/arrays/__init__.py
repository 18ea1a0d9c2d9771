"""The interface of an array in Python and NumPy: operators, methods, indices, NumPy's functions."""
