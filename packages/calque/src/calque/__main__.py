"""`python -m calque`: print the rule matrix of the standard operations, with the rules of every package."""

import importlib.util

import calque
import calque_autodiff
import calque_batching
import calque_jet
from calque_core import rule_matrix

COLUMNS = (calque_autodiff, calque_batching, calque_jet)  # whose imports declare the rules

if __name__ == "__main__":
    if importlib.util.find_spec("calque_xla_backend"):
        calque.jit  # noqa: B018 - loads the backend, whose lowering rules are a column
    print(rule_matrix())  # noqa: T201 - this command prints
