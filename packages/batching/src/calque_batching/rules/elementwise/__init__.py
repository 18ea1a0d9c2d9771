"""Functions of one element of each operand: arithmetic, powers, comparisons, bits, error functions."""
