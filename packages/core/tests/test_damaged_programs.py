"""Stored programs that are damaged: reading them gives the program or a `ValueError`, and nothing else."""

from __future__ import annotations

import copy
import json
import random

import numpy as np
import pytest

from calque_core import Jaxpr, jaxpr_equal, jaxpr_from_dict, jaxpr_to_dict, lax, make_jaxpr, trace_state_clean

SCALE = np.linspace(0.5, 1.5, 3)


def a_program(x, n):
    """Have a loop, a branch, constants, records, dtypes, literals of all kinds."""
    y = lax.cond(n > 0, lambda x: lax.sin(x) * SCALE, lambda x: x, x)
    z = lax.fori_loop(0, 3, lambda i, c: c * 0.5 + y, x)
    picked = x[np.array([0, 2])]
    return lax.reduce_sum(z), lax.convert_element_type(n, np.float32), picked, lax.sort(x), x[n]


JAXPR = make_jaxpr(a_program)(np.ones(3), 1)
DATA = json.loads(json.dumps(jaxpr_to_dict(JAXPR)))
REPLACEMENTS = (
    None, True, -1, 0, 1, 7, 10**30, 0.5, "", "float64[3]", "~int64[]", "sin", "?", [], [0], {}, {"tuple": []},
    {"jaxpr": 0}, {"jaxpr": 99}, {"rules": 0}, {"dtype": "int8"}, {"dtype": "x"}, {"tuple": [1, {"list": [2]}]},
    {"enum": ["Precision", "HIGH"]}, {"record": ["ByName", {}]}, {"array": ["float64[2]", "AAAA"]}, {"float": "nan"},
    {"primitive": ["sin", "os"]}, {"slice": [1, 2, 3]}, {"spec": [1]}, {"scalar": ["int8[]", "AA=="]},
)  # fmt: skip


def places(data, path=()):
    """Yield the path of each entry."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def mutated(rng):
    """Return damaged data: one to three entries are replaced, removed, repeated, renamed, or exchanged."""
    data = copy.deepcopy(DATA)
    for _ in range(rng.choice((1, 1, 2, 3))):
        *outer, key = rng.choice(list(places(data)))
        holder = data
        for step in outer:
            holder = holder[step]
        kind = rng.randrange(5)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif kind == 1:
            holder[f"{key}_"] = holder.pop(key)
        elif kind == 2 and isinstance(holder[key], int):
            holder[key] += rng.choice((-1, 1))
        elif kind == 2 and isinstance(holder[key], str) and holder[key]:
            i = rng.randrange(len(holder[key]))
            holder[key] = holder[key][:i] + rng.choice("a[]~0=\0é") + holder[key][i + rng.randrange(2) :]
        elif kind == 3:
            other = rng.choice(list(places(data)))
            value = data
            for step in other:
                value = value[step]
            holder[key] = copy.deepcopy(value)
        else:
            holder[key] = copy.deepcopy(rng.choice(REPLACEMENTS))
    return data


def error_of(data):
    """Return the error of reading data; None if it is a program."""
    try:
        assert type(jaxpr_from_dict(data)) is Jaxpr
    except ValueError as error:
        return error
    return None


@pytest.mark.sampled(keep=0.1)
@pytest.mark.parametrize("seed", range(5))
def test_damaged_data_gives_a_program_or_a_value_error(seed):
    rng = random.Random(seed)
    errors = [error for error in (error_of(mutated(rng)) for _ in range(2000)) if error is not None]
    assert len(errors) > 1200
    assert {type(error) for error in errors} == {ValueError}
    assert [str(error) for error in errors if not str(error).startswith("jaxpr_from_dict: ")] == []
    assert trace_state_clean()
    assert jaxpr_equal(jaxpr_from_dict(DATA), JAXPR)
