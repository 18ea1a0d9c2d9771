"""From a Python function to a program that is checked and has no dead code."""
