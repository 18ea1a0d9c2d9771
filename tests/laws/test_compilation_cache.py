"""A program loaded from disk computes the same bits as the program that was compiled, for every operation.

The operations are compiled together, a dozen to a program: to compile takes longer than to compare.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from composites import COMPOSITES
from operations import OPERATIONS

import calque
from calque import grad, jit, vmap
from calque.tree import leaves
from calque_xla_backend import compilation_cache
from calque_xla_backend.compilation_cache import cache
from calque_xla_backend.compilation_cache.key import key_of
from calque_xla_backend.runtime.placement import placement
from calque_xla_backend.runtime.runtime import compile_options

PROGRAMS = [*(row for rows in OPERATIONS.values() for row in rows), *COMPOSITES]
NOT_STORED = [*(program.name for program in PROGRAMS if "callback" in program.name), "check"]  # they call Python
STORED = [program for program in PROGRAMS if program.name not in NOT_STORED]
DOZENS = [STORED[start : start + 12] for start in range(0, len(STORED), 12)]


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """Give the test a cache of its own that stores every program."""
    monkeypatch.setattr(cache, "_cache", cache.CompilationCache())
    monkeypatch.setattr(cache, "MIN_COMPILE_SECONDS", 0.0)
    compilation_cache.set_cache_dir(tmp_path / "cache")
    yield
    calque.clear_caches()


def bits(fun, *args):
    """Return the bytes of each result of a function that is compiled or loaded anew."""
    calque.clear_caches()
    return [np.asarray(x).tobytes() for x in leaves(jit(fun)(*args))]


def hits_and_misses():
    info = compilation_cache.cache_info()
    return info.hits, info.misses


@pytest.mark.sampled(keep=0.15)
@pytest.mark.parametrize("dozen", DOZENS, ids=lambda dozen: f"{dozen[0].name} and {len(dozen) - 1} more")
def test_a_loaded_program_computes_the_same_bits(own_cache, dozen):
    examples = [program.example(program.widest) for program in dozen]
    counts = [len(example.leaves) for example in examples]

    def every(*operands):
        values = iter(operands)
        return [example(*[next(values) for _ in range(count)]) for example, count in zip(examples, counts)]

    operands = [leaf for example in examples for leaf in example.leaves]
    stored = bits(every, *operands)
    count = compilation_cache.cache_info().stored
    assert count >= 1
    assert bits(every, *operands) == stored
    assert hits_and_misses() == (count, count)


# A process of its own has another order of sets and other addresses of objects, which must not matter to a module.
KEYS = """
import sys
sys.path.insert(0, sys.argv[1])
import test_compilation_cache
print(*test_compilation_cache.keys(), sep="\\n")
"""


@functools.cache
def keys():
    """Return each program's name with its key, which is empty if the program must not be stored."""
    options, lines = compile_options(placement()), []
    for program in PROGRAMS:
        example = program.example(program.widest)
        key = key_of(jit(example).lower(*example.leaves).compiler_ir(), options, "cpu")
        lines.append(f"{program.name}: {key.hex() if key else ''}")
    return lines


def test_every_process_has_the_same_key_for_a_program():
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    command = [sys.executable, "-c", KEYS, str(Path(__file__).parent)]
    other = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    assert keys() == other


def test_programs_have_a_key_unless_they_call_python():
    without = [line for line in keys() if line.endswith(": ")]
    assert without == [f"{p.name}: " for p in PROGRAMS if "callback" in p.name or p.name == "check"]


def test_programs_of_transformed_functions_are_loaded(own_cache):
    def loss(w, x):
        return np.sum(np.tanh(x @ w) ** 2)

    gradient, x = vmap(grad(loss), in_axes=(None, 0)), np.linspace(-1.0, 1.0, 24).reshape(2, 4, 3)
    stored = bits(gradient, np.ones(3), x)
    assert bits(gradient, np.ones(3), x) == stored
    assert hits_and_misses() == (1, 1)


def test_threads_that_compile_and_load_the_same_programs_agree(own_cache):
    x = np.linspace(0.0, 1.0, 5)
    wrong = []

    def work():
        for factor in (1.5, 2.5, 3.5):
            for _ in range(3):
                result = np.asarray(jit(lambda y, factor=factor: y * factor)(x))
                wrong.extend([] if np.array_equal(result, x * factor) else [factor])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert compilation_cache.cache_info().entries == 3
