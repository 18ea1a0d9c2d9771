"""The NumPy functions over calque's primitives, and random numbers from explicit keys."""
