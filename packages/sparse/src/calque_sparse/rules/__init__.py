"""What each operation of core does to sets of columns."""

from calque_sparse.rules import elementwise, moves, programs, reductions
