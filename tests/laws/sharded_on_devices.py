"""Checks that sharded programs, compiled for several devices, compute what they mean on one: values and gradients.

The claims are named as the cases of `test_sharded.py`: "psum-4-checked" is the program "psum" on four of eight devices.
"""

from __future__ import annotations

from agreement import assert_close, directions
from many_devices import COUNT, report
from sharded_programs import BACKWARDS, CLOSE, PROGRAMS, pulled

from calque_core import config
from calque_xla_backend import jit

BY_NAME = {program.name: program for program in PROGRAMS}


def check(claim: str) -> None:
    """Check that a compiled program and its compiled gradient agree with the meaning of the program."""
    name, size, types = claim.split("-")
    program = BY_NAME[name]
    example, meaning = program.sharded(int(size), types == "checked"), program.on_one_device(int(size))
    outs = meaning(*meaning.leaves)
    assert_close(jit(example)(*example.leaves), outs, CLOSE)
    if program in BACKWARDS:
        cts = directions(outs, 2)
        assert_close(jit(pulled(example, cts))(*example.leaves), pulled(meaning, cts)(*meaning.leaves), CLOSE)


if __name__ == "__main__":
    config.cpu_devices(COUNT)
    report(check)
