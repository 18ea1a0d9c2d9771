"""The effect of each operation of core on sets of columns."""

from calque_sparse.rules import elementwise, moves, programs, reductions
