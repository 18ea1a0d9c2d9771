"""A breakpoint stops every evaluator and transformation, and shows the primal values of each run."""

from __future__ import annotations

import bdb
import io
import re

import numpy as np
import pytest

from calque import debug, grad, jit, lax, vmap


def loss(x):
    y = lax.sin(x) * 2.0
    debug.breakpoint(num_frames=1, ordered=False)
    return y


def stepped(x):
    return lax.scan(lambda carry, step: (loss(carry) + step, None), x, np.zeros(2))[0]


PROGRAMS = {
    "eager": (loss, [0.5]),
    "jit": (jit(loss), [0.5]),
    "grad": (grad(loss), [0.5]),
    "jit of grad": (jit(grad(loss)), [0.5]),
    "grad of jit": (grad(jit(loss)), [0.5]),
    "vmap": (vmap(loss), [0.5, 0.25]),
    "jit of vmap of grad": (jit(vmap(grad(loss))), [0.5, 0.25]),
    "jit of scan": (jit(stepped), [0.5, float(np.sin(0.5) * 2.0)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_breakpoint_shows_the_values_of_each_run(name, monkeypatch, capsys):
    program, xs = PROGRAMS[name]
    argument = np.array(xs) if "vmap" in name else xs[0]
    for _ in range(2):  # by the general path, then by the program at hand
        monkeypatch.setattr("sys.stdin", io.StringIO("p float(x)\np float(y)\nc\n" * len(xs)))
        np.asarray(program(argument))
        values = [float(answer) for answer in re.findall(r"\(calque\) (\d\S*)$", capsys.readouterr().out, re.MULTILINE)]
        np.testing.assert_allclose(values, np.ravel([[x, np.sin(x) * 2.0] for x in xs]), rtol=1e-14)


def test_quit_ends_a_compiled_program_and_the_next_call_works(monkeypatch, capsys):
    program = jit(loss)
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
    with pytest.raises(bdb.BdbQuit):
        program(1.0)
    monkeypatch.setattr("sys.stdin", io.StringIO("c\n"))
    np.testing.assert_allclose(program(1.0), 2.0 * np.sin(1.0))
    assert capsys.readouterr().out.count("debug.breakpoint(num_frames=1") == 2
