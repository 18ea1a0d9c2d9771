"""`python -m calque`: print the rule matrix of the standard operations, every package's rules included."""

import importlib.util

import calque
from calque_core import rule_matrix

if __name__ == "__main__":
    if importlib.util.find_spec("calque_xla_backend"):
        calque.jit  # noqa: B018 - loads the backend, whose lowering rules are a column
    print(rule_matrix())  # noqa: T201 - printing is what this command does
