"""An interrupt leaves nothing behind, wherever it lands: at random moments, and at every bytecode of the mechanism."""

from __future__ import annotations

import dis
import signal
import sys
import types
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from interrupts import broken, raise_interrupts

import calque_autodiff
import calque_batching
import calque_core
import calque_xla_backend
from calque_autodiff import grad
from calque_batching import vmap
from calque_core import Primitive, Trace, config, eval_jaxpr, evaluation, hand_down, lax, make_jaxpr, tracing
from calque_core.context import _Exit, entered
from calque_xla_backend import jit

CAPTURED = np.linspace(0.0, 1.0, 20)
X = np.linspace(0.5, 2.0, 20)


def codes_of(owner):
    """Return the code of every function of a class or a module."""
    functions = (getattr(value, "__func__", value) for value in vars(owner).values())
    own = [
        f for f in functions if hasattr(f, "__code__") and f.__module__ == getattr(owner, "__module__", owner.__name__)
    ]
    classes = [
        c for c in vars(owner).values() if isinstance(c, type) and c.__module__ == getattr(owner, "__name__", "")
    ]
    return {f.__code__ for f in own}.union(*map(codes_of, classes))


PACKAGES = [calque_autodiff, calque_batching, calque_core, calque_xla_backend]
MECHANISM = {
    Primitive.bind.__code__, hand_down.__code__, *codes_of(entered), *codes_of(tracing), *codes_of(_Exit),
    *codes_of(config.scope),
}  # fmt: skip


JAXPR = make_jaxpr(lambda x: lax.sin(x) * 2.0)(1.0)


class Passing(Trace):
    def process_primitive(self, primitive, args, params):
        return hand_down(self.parent, primitive, args, params)


def blocks():
    with tracing(Passing(evaluation)), config.enable_x64(False), entered(axis_env=(("i", 2),)):
        return lax.sin(lax.cond(True, lambda v: v, lambda v: v, 1.0))


def suspended():
    def generator():
        with config.enable_x64(False):
            yield lax.sin(1.0)

    return list(generator())


PROGRAMS = {
    "blocks": blocks,
    "a generator": suspended,
    "make_jaxpr": lambda: make_jaxpr(lambda x: x * CAPTURED)(X),
    "grad": lambda: grad(lambda x: lax.reduce_sum(lax.sin(x * CAPTURED)))(X),
    "vmap": lambda: vmap(lambda x: lax.sin(x) + lax.reduce_sum(CAPTURED), axis_name="i")(X),
    "jit": lambda: jit(lambda x: lax.sin(x) * CAPTURED).lower(X),
    "eval_jaxpr": lambda: eval_jaxpr(JAXPR, (), 1.0),
}


def interrupted_at(number, program):
    """Run a program with an interrupt at one bytecode of the mechanism; tell whether it has that many."""
    seen = 0

    def at_instruction(*_):
        nonlocal seen
        seen += 1
        if seen == number:
            raise KeyboardInterrupt

    with INSTRUCTIONS(at_instruction):
        try:
            program()
        except KeyboardInterrupt:
            return True
    return False


@contextmanager
def traced(at_instruction):
    """Call a function before each bytecode of the mechanism, as Python up to 3.11 can."""

    def at_event(frame, event, _):
        if event == "opcode":
            at_instruction()
        return at_event

    def at_call(frame, event, _):
        if frame.f_code not in MECHANISM:
            return None
        frame.f_trace_opcodes = True
        return at_event

    before = sys.gettrace()
    sys.settrace(at_call)
    try:
        yield
    finally:
        sys.settrace(before)


@contextmanager
def monitored(at_instruction):
    """Call a function before each bytecode of the mechanism, as Python can from 3.12 on; it traces only some."""
    monitoring = sys.monitoring
    tool, event = monitoring.DEBUGGER_ID, monitoring.events.INSTRUCTION
    monitoring.use_tool_id(tool, "interrupts")
    monitoring.register_callback(tool, event, at_instruction)
    for code in MECHANISM:
        monitoring.set_local_events(tool, code, event)
    try:
        yield
    finally:
        for code in MECHANISM:
            monitoring.set_local_events(tool, code, 0)
        monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)


INSTRUCTIONS = monitored if hasattr(sys, "monitoring") else traced


@pytest.mark.counts  # a thread at rest has the default settings
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_interrupt_at_any_bytecode_of_the_mechanism_leaves_nothing_behind(name):
    program = PROGRAMS[name]
    program()
    for number in count(1):
        if not interrupted_at(number, program):
            break
        assert not broken(), f"{broken()} after an interrupt at bytecode {number}"
        assert CAPTURED.flags.writeable, number
        assert X.flags.writeable, number
    assert number > 50


@pytest.mark.skipif(sys.version_info < (3, 12), reason="until 3.11 a `try` protects all of a loop")
def test_no_loop_inside_of_a_try_that_restores_a_place_has_an_end_outside_of_it():
    codes = {code for package in PACKAGES for path in package.__path__ for code in codes_below(path)}
    restoring = {code for code in codes if {"context", "source"} <= {*code.co_varnames, *code.co_names}}
    assert len(restoring) > 5
    assert [code.co_qualname for code in restoring if has_unprotected_jump(code)] == []


def codes_below(folder):
    """Return every code object of the modules below a folder."""
    codes = [compile(path.read_text(encoding="utf-8"), path, "exec") for path in Path(folder).rglob("*.py")]
    for code in codes:
        codes += [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return codes


def has_unprotected_jump(code):
    """Tell whether a jump back goes into a `try` that restores an attribute, from outside of it."""
    bytecode = dis.Bytecode(code)
    entries, instructions = bytecode.exception_entries, list(bytecode)

    def handlers(offset):
        return {entry.target for entry in entries if entry.start <= offset < entry.end}

    def restores(handler):
        return any(i.opname == "STORE_ATTR" for i in instructions if handler <= i.offset < handler + 20)

    jumps = [i for i in instructions if i.opname == "JUMP_BACKWARD"]
    return any(restores(handler) for i in jumps for handler in handlers(i.argval) - handlers(i.offset))


@pytest.mark.counts  # a thread at rest has the default settings
def test_an_interrupt_whose_traceback_is_kept_leaves_nothing_behind():
    kept = []
    for number in count(1):
        try:
            if not interrupted_at_and_kept(number, blocks, kept):
                break
        finally:
            assert not broken(), number
    assert kept


def interrupted_at_and_kept(number, program, kept):
    def run():
        try:
            program()
        except KeyboardInterrupt as error:
            kept[:] = [error]
            raise

    return interrupted_at(number, run)


@pytest.mark.counts  # a thread at rest has the default settings
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of less than a second are Unix's")
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # Python's own, in a callback of a weakref
def test_interrupts_at_random_moments_leave_nothing_behind():
    assert raise_interrupts(500) == {}
