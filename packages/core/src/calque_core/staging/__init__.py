"""From a Python function to a program, checked and without dead code."""
