"""A late import disturbs nobody: other threads, an interrupt, a current trace and a block of settings.

One idea: each program below first uses names of many modules in a process of its own, in one of these situations, and
its results are those of a program that has imported all of them before.
Read next: `test_loads.py`, which lists the modules that a program loads.
"""

from __future__ import annotations

import json
import subprocess
import sys

FRONTS = """
import calque.nn, calque.numpy, calque.random, calque.scipy, calque_numpy
fronts = [calque.numpy, calque_numpy, calque_numpy.linalg, calque_numpy.fft, calque.nn, calque.random]
fronts += [calque.scipy.linalg, calque.scipy.special, calque.scipy.stats]
names = [(front, name) for front in fronts for name in front.__all__]
"""

THREADS = """
import json, random, sys, threading
sys.setswitchinterval(1e-5)
start = threading.Barrier(4)

def use(seed):
    start.wait()
    for front, name in random.Random(seed).sample(names, len(names)):
        seen[seed][front.__name__, name] = getattr(front, name)

seen = [{} for _ in range(4)]
threads = [threading.Thread(target=use, args=(seed,)) for seed in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
equal = [sum(each[key] is value for key, value in seen[0].items()) for each in seen]
print(json.dumps([len(names), *equal]))
"""

INTERRUPTS = """
import json
from importlib.machinery import SourceFileLoader
import numpy as np
import calque

execute = SourceFileLoader.exec_module
interrupted = []

def interrupted_once(loader, module):
    execute(loader, module)
    if module.__name__.startswith("calque") and module.__name__ not in interrupted:
        interrupted.append(module.__name__)
        raise KeyboardInterrupt

def program():
    key = calque.random.key(0)
    return [
        calque.grad(lambda x: np.mean(np.concatenate([np.sin(x), x * x]) @ np.ones(4)))(np.array([0.5, 1.0])),
        calque.vmap(lambda x: calque.lax.fori_loop(0, 3, lambda i, y: y * x[i], 1.0))(np.full((2, 3), 2.0)),
        calque.nn.relu(calque.random.normal(key, (3,))),
        calque.jvp(np.linalg.norm, (np.ones(4),), (np.ones(4),))[1],
        calque.numpy.linalg.det(np.eye(2)),
    ]

SourceFileLoader.exec_module = interrupted_once
while True:
    before = len(interrupted)
    try:
        results = program()
    except KeyboardInterrupt:
        assert len(interrupted) == before + 1
    else:
        break
print(json.dumps([len(interrupted), [np.asarray(x).tolist() for x in results]]))
"""

CUTS = """
import json, sys
import numpy as np
import calque

cuts = []

def in_module(frame, event, arg):
    place = frame.f_globals["__name__"], frame.f_lineno
    if event == "line" and place not in cuts and len(cuts) < 250:
        cuts.append(place)
        raise KeyboardInterrupt
    return in_module

def in_rules(frame, event, arg):
    is_body = frame.f_code.co_name == "<module>" and frame.f_code.co_filename.rpartition("rules")[1]
    return in_module if is_body and frame.f_globals.get("__name__", "").startswith("calque") else None

def program(x):
    power = calque.lax.scan(lambda y, _: (y * x, None), x, None, length=3)[0]
    return calque.lax.cond(x > 1.0, lambda y: y / x, lambda y: y, power)

while True:
    sys.settrace(in_rules)
    try:
        results = calque.vmap(calque.grad(program))(np.array([0.5, 2.0]))
    except KeyboardInterrupt:
        continue
    finally:
        sys.settrace(None)
    break
print(json.dumps([len(cuts), results.tolist()]))
"""

AT_REST = """
import json
from importlib.machinery import SourceFileLoader
import numpy as np
from calque_core import config, current_trace, evaluation, make_jaxpr

execute = SourceFileLoader.exec_module
default = config.current()
seen = []

def watched(loader, module):
    if module.__name__.startswith("calque"):
        seen.append((current_trace() is evaluation, config.current() == default))
    execute(loader, module)

def program(x):
    y = np.concatenate([x, np.linalg.inv(x)])
    z = np.cumsum(np.fft.fft(y).real)
    for front, name in names:
        getattr(front, name)
    return z

SourceFileLoader.exec_module = watched
with config.enable_x64(False):
    late = make_jaxpr(program)(np.eye(2))
    again = make_jaxpr(program)(np.eye(2))
print(json.dumps([len(seen), seen.count((True, True)), str(late) == str(again)]))
"""


def run(program: str) -> list:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_all_threads_that_use_names_first_at_once_get_the_same_values():
    wanted, *equal = run(FRONTS + THREADS)
    assert wanted > 900
    assert len(equal) == 4
    assert set(equal) == {wanted}


def test_an_interrupt_of_any_late_import_leaves_a_program_that_runs_as_ever():
    interrupts, results = run(INTERRUPTS)
    expected = run(INTERRUPTS.replace("SourceFileLoader.exec_module = interrupted_once", ""))
    assert interrupts > 100
    assert expected == [0, results]


def test_an_interrupt_at_any_line_of_a_module_of_rules_leaves_rules_that_work():
    assert run(CUTS) == [250, [0.5, 12.0]]


def test_no_late_import_runs_under_a_trace_or_in_a_block_of_settings_and_none_is_recorded():
    modules, at_rest, is_same_program = run(FRONTS + AT_REST)
    assert modules > 100
    assert at_rest == modules
    assert is_same_program
