"""Functions by scipy's names, in modules of scipy's names; scipy itself is not needed."""
