"""Record the numbers of `jax.random` for the tests of `calque_numpy`: `python tests/laws/record_random.py`.

The rows of distributions below are made anew; all other cases of the file stay as they are.  It needs jax.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np

FILE = Path(__file__).parents[2] / "packages/numpy/tests/recorded_random.json"


def array(*values: Any) -> dict[str, Any]:
    """Return the record of an array argument; it has the default float of the regime."""
    return {"array": list(values)}


SHAPES, WEIGHTS = array(0.3, 1.0, 2.5, 40.0), array(0.1, 0.2, 0.3, 0.15, 0.25)
ROWS = array([0.0, 1.0, -1.0, 0.5], [2.0, 0.0, 0.0, -2.0])
COVARIANCE = array([2.0, 0.5], [0.5, 1.0])
GRID = {"arange": [4, 3], "dtype": "float32"}

# The calls of each distribution, by their arguments after the key; a list is a shape.
CALLS: dict[str, list[list[Any]]] = {
    "rademacher": [[[8]], [[2, 3], "int8"]],
    "exponential": [[[6]], [[2, 2], "float16"]],
    "cauchy": [[[6]]],
    "laplace": [[[6]], [[6], "float32"]],
    "logistic": [[[6]]],
    "gumbel": [[[6]], [[6], "float32", "high"], [[6], "float32", "highest"]],
    "pareto": [[SHAPES], [2.5, [6]]],
    "rayleigh": [[SHAPES]],
    "weibull_min": [[2.0, 1.5, [6]]],
    "triangular": [[-1.0, 0.5, 2.0, [6]], [array(-1.0, 0.0), 0.5, 2.0]],
    "truncated_normal": [[-1.0, 2.0, [6]], [array(-2.0, 0.0), 1.0]],
    "lognormal": [[0.5, [6]], [SHAPES]],
    "maxwell": [[[6]]],
    "double_sided_maxwell": [[0.5, 2.0, [6]], [array(0.0, 1.0), 2.0]],
    "wald": [[array(0.3, 1.0, 2.5)]],  # of greater means, jax's numbers in float32 lose four digits by cancellation
    "gamma": [[SHAPES], [0.5, [6]], [SHAPES, [2, 4], "float32"]],
    "loggamma": [[SHAPES], [0.001, [6]]],
    "beta": [[SHAPES, 2.0], [0.5, 0.5, [6]]],
    "dirichlet": [[SHAPES], [SHAPES, [3]]],
    "chisquare": [[SHAPES], [3.0, [6]]],
    "f": [[3.0, 4.0, [6]], [SHAPES, SHAPES]],
    "t": [[SHAPES], [3.0, [6]]],
    "generalized_normal": [[3.0, [6]]],
    "ball": [[3, 2.0, [2]], [2, 1.0]],
    "categorical": [[ROWS], [ROWS, 0], [ROWS, -1, [5, 2]], [ROWS, -1, [3, 2], False]],
    "choice": [
        [10, [8]], [GRID, [2, 2]], [GRID, [2], False, None, 1], [5, [8], True, WEIGHTS], [5, [4], False, WEIGHTS],
        [7, [7], False],
    ],
    "geometric": [[0.3, [8]], [array(0.01, 0.5, 0.99)]],
    "poisson": [[3.0, [8]], [array(0.0, 0.5, 9.0, 11.0, 200.0), [3, 5]]],
    "binomial": [[20.0, 0.3, [8]], [array(5.0, 100.0, 1000.0), array(0.1, 0.5, 0.9)]],
    "multinomial": [[20.0, array(0.2, 0.3, 0.5)], [array(20.0, 100.0), array([0.2, 0.3, 0.5], [0.6, 0.2, 0.2])]],
    "multivariate_normal": [
        [array(1.0, 2.0), COVARIANCE, [3]], [array([1.0, 2.0], [3.0, 4.0]), COVARIANCE],
        [array(1.0, 2.0), COVARIANCE, [3], None, "eigh"], [array(1.0, 2.0), COVARIANCE, [3], None, "svd"],
    ],
    "orthogonal": [[3], [2, [2], "float32", 4]],
}  # fmt: skip


def argument(recorded: Any) -> Any:
    """Return an argument for jax from its record; jax takes scalars as arrays in every function alone."""
    if isinstance(recorded, dict) and "arange" in recorded:
        shape = recorded["arange"]
        return jax.numpy.arange(int(np.prod(shape)), dtype=recorded["dtype"]).reshape(shape)
    if isinstance(recorded, dict):
        return jax.numpy.asarray(recorded["array"], float)
    if isinstance(recorded, float):
        return jax.numpy.asarray(recorded)
    return tuple(recorded) if isinstance(recorded, list) else recorded


def cases(x64: bool) -> list[dict[str, Any]]:
    """Return the cases of one regime."""
    made = []
    with jax.enable_x64(x64):
        for call, rows in CALLS.items():
            for seed, args in enumerate(rows):
                key = jax.random.key(seed)
                out = np.asarray(getattr(jax.random, call)(key, *map(argument, args)))
                record = {"x64": x64, "seed": seed, "call": call, "args": args}
                made.append({**record, "dtype": out.dtype.name, "shape": out.shape, "values": out.ravel().tolist()})
    return made


def main() -> None:
    """Write the file anew."""
    table = json.loads(FILE.read_text())
    kept = [case for case in table["cases"] if case["call"] not in CALLS]
    every = kept + cases(True) + cases(False)
    head = {name: value for name, value in table.items() if name != "cases"}
    lines = [f"{json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
    rows = ",\n".join(json.dumps(case) for case in every)
    FILE.write_text("\n".join(["{", *lines, '"cases": [', rows, "]", "}"]) + "\n")


if __name__ == "__main__":
    main()
