"""Long runs, each in a process of its own: `python tests/laws/soak.py calls 200 10000` prints figures as JSON.

One idea: do the work once to warm up, count programs, arrays and pages of memory, do the work many times more, count
again.  The garbage collector is off, so that only references free memory.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing  # `numpy.testing` of two threads at once, at its first use, has no end

import calque
from calque_xla_backend.calls.arena import Arena
from calque_xla_backend.runtime.clients import client

os.environ["CALQUE_CACHE"] = "off"
PAGE = os.sysconf("SC_PAGE_SIZE")


def counted() -> dict[str, int]:
    """Return how many programs, device arrays and bytes the process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if Path("/proc/self/statm").exists() else 0
    return {
        "programs": len(client().live_executables()),
        "arrays": len(client().live_arrays()),
        "in arenas": sum(len(x.buffers) for x in gc.get_objects() if type(x) is Arena),  # for arguments of calls
        "blocks": sys.getallocatedblocks(),  # of memory of Python's
        "bytes": pages * PAGE,
    }


def grown(work: Callable[[], object]) -> dict[str, int]:
    """Return by how much the counts grow while the work is done."""
    before = counted()
    work()
    after = counted()
    return {name: after[name] - before[name] for name in before}


def calls(signatures: str, count: str) -> dict[str, int]:
    """Call one function `count` times with arguments of many types, on devices and on the host, in turn."""
    f = calque.jit(lambda p, x: {"sum": p["w"] * x + 1.0, "same": x})
    arguments = [np.ones(1 + i // 2, ["float32", "float64"][i % 2]) for i in range(int(signatures))]

    def work(number: int) -> None:
        for i in range(number):
            x = arguments[i % len(arguments)]
            out = f({"w": x}, x) if i % 3 else f({"w": calque.device_put(x)}, calque.device_put(x))
            if i % 50 == 0:
                np.testing.assert_array_equal(out["sum"], np.full(x.shape, 2.0))

    work(6 * len(arguments))
    compiled = f.cache_info()
    result = grown(lambda: work(int(count)))
    assert f.cache_info() == compiled
    return result | {"signatures": compiled.programs}


class Table:
    """A value that a program captures; the test asks whether it is freed."""

    def __init__(self) -> None:
        self.array = np.linspace(0.0, 1.0, 1000)


def ruled(table: Table) -> Any:
    """Return a function with a derivative rule, which refers to the table."""
    f = calque.custom_vjp(lambda x: x * table.array)
    f.defvjp(lambda x: (x * table.array, x), lambda x, x_bar: (x_bar * table.array,))
    return f


def stepped(table: Table) -> Any:
    return lambda x: calque.lax.scan(lambda c, _: (c * table.array, None), x, None, length=2)[0]


def rematerialized(table: Table) -> Any:
    return lambda x: calque.checkpoint(lambda v: v * table.array)(x).sum()


def hosted(table: Table) -> Any:
    declared = calque.ShapeDtypeStruct((1000,), np.float64)
    return lambda x: calque.pure_callback(lambda v: v * table.array, declared, x)


BUILDERS: dict[str, Callable[[Table], Any]] = {
    "jit": lambda table: calque.jit(lambda x: x * table.array),
    "nested": lambda table: calque.jit(calque.jit(lambda x: x * table.array)),
    "donated": lambda table: calque.jit(lambda x: x * table.array, donate_argnums=0),
    "static": lambda table: calque.jit(lambda x, n=2: x * table.array * n, static_argnames="n"),
    "grad": lambda table: calque.jit(calque.grad(lambda x: (x * table.array).sum())),
    "grad of jit": lambda table: calque.grad(calque.jit(lambda x: (x * table.array).sum())),
    "eager grad": lambda table: calque.grad(lambda x: (x * table.array).sum()),
    "vmap": lambda table: calque.jit(calque.vmap(lambda x: x * table.array, in_axes=None, axis_size=2)),
    "checkpoint": lambda table: calque.jit(calque.grad(rematerialized(table))),
    "custom_vjp": lambda table: calque.jit(calque.grad(lambda x: ruled(table)(x).sum())),
    "scan": lambda table: calque.jit(stepped(table)),
    "callback": lambda table: calque.jit(hosted(table)),
    "linearize": lambda table: lambda x: calque.linearize(lambda v: v * table.array, x)[1](x),
    "vjp": lambda table: lambda x: calque.vjp(lambda v: v * table.array, x)[1](x),
}  # fmt: skip


def use(build: Callable[[Table], Any]) -> weakref.ref[Table]:
    """Build a function, call it three times, drop it; return a reference to the table that it captured."""
    table = Table()
    f = build(table)
    for _ in range(3):
        f(calque.device_put(np.ones(1000)))
    return weakref.ref(table)


def drops(count: str) -> dict[str, dict[str, int]]:
    """Build, call and drop functions of each kind `count` times."""
    result = {}
    for name, build in BUILDERS.items():
        use(build)
        kept: list[bool] = []
        growth = grown(lambda build=build, kept=kept: kept.extend(use(build)() is not None for _ in range(int(count))))
        result[name] = growth | {"tables": sum(kept)}
    return result


def refuse_all() -> None:
    """Meet each error of a call once; the next call must be right."""
    f = calque.jit(lambda x: x * 2.0)
    donating = calque.jit(lambda x: x + 1.0, donate_argnums=0)
    large = calque.jit(lambda x, n: np.broadcast_to(x, (n,)), static_argnums=1)
    declared = calque.ShapeDtypeStruct((3,), np.float64)
    failing = calque.jit(lambda x: calque.pure_callback(lambda v: 1 // 0, declared, x))
    donated, deleted, x = (calque.device_put(np.ones(3)) for _ in range(3))
    donating(donated)
    deleted.delete()
    for call, kind in [
        (lambda: f(donated), RuntimeError),
        (lambda: f(deleted), RuntimeError),
        (lambda: calque.grad(lambda v: f(v).sum())(deleted), RuntimeError),
        (lambda: large(1.0, 2**47), MemoryError),
        (lambda: failing(x), ZeroDivisionError),
        (lambda: calque.jit(lambda v: v @ np.ones((2, 2)))(x), TypeError),
        (lambda: f("text"), TypeError),
    ]:
        try:
            call()
        except kind:
            np.testing.assert_array_equal(f(x), [2.0, 2.0, 2.0])
        else:
            raise AssertionError(f"no {kind.__name__}")


def errors(count: str) -> dict[str, int]:
    """Meet every error `count` times."""
    refuse_all()
    return grown(lambda: [refuse_all() for _ in range(int(count))])


def train(steps: str) -> dict[str, int]:
    """Donate the parameters at each of `steps` steps."""
    loss = lambda p, x: ((p["w"] * x + p["b"]) ** 2).sum()
    step = lambda p, x: calque.tree.map(lambda v, d: v - 1e-3 * d, p, calque.grad(loss)(p, x))
    update = calque.jit(step, donate_argnums=0)
    params, x = calque.device_put({"w": np.ones(100), "b": np.zeros(100)}), calque.device_put(np.ones(100))

    def work(number: int) -> None:
        nonlocal params
        for _ in range(number):
            params = update(params, x)

    work(10)
    result = grown(lambda: work(int(steps)))
    assert 0.0 < float(np.asarray(params["w"])[0]) < 1.0
    return result


def threads(count: str) -> dict[str, Any]:
    """Let eight threads call shared functions with types and settings of their own, compile, and drop functions."""
    shared = calque.jit(lambda x, y: {"product": x * y, "sum": x + y})
    slope = calque.jit(calque.grad(lambda x: (x**3).sum()))
    wrong: list[str] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for i in range(int(count)):
                x = rng.integers(1, 9, size=rng.integers(1, 4)).astype(["float32", "float64", "int64"][i % 3])
                put = calque.device_put if rng.random() < 0.5 else np.copy
                with calque.enable_x64(bool(seed % 2)):
                    out = shared(put(x), put(x))
                    wide = x.dtype if seed % 2 else {"float64": "float32", "int64": "int32"}.get(x.dtype.name, x.dtype)
                    assert out["sum"].dtype == wide, (out["sum"].dtype, wide)
                    np.testing.assert_array_equal(out["product"], x * x)
                np.testing.assert_array_equal(slope(put(x * 1.0)), 3.0 * x * x)
                np.testing.assert_array_equal(calque.vmap(shared)(x, x)["sum"], x + x)
                if i % 20 == seed:
                    assert float(calque.jit(lambda v, k=seed: v + k)(1.0)) == 1.0 + seed
        except BaseException as error:  # noqa: BLE001
            wrong.append(f"thread {seed}: {error!r}")

    def rounds() -> None:
        workers = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    rounds()
    return grown(rounds) | {"wrong": wrong, "traces": shared.cache_info().traces}


def forks(count: str) -> dict[str, Any]:
    """Fork while threads compile and call; each child computes with NumPy and is refused by XLA, and none waits."""
    warnings.simplefilter("ignore", DeprecationWarning)  # of fork in a process with threads
    f = calque.jit(lambda x: x + 1.0)
    f(np.ones(3))
    stop = threading.Event()

    def work(seed: int) -> None:
        while not stop.is_set():
            calque.jit(lambda x: x * 2.0 + seed)(np.ones(3))
            f(np.ones(3))

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for worker in workers:
        worker.start()
    codes = [exit_code_of_child(f) for _ in range(int(count))]
    stop.set()
    for worker in workers:
        worker.join()
    np.testing.assert_array_equal(f(np.ones(3)), np.full(3, 2.0))
    return {"codes": codes}


def exit_code_of_child(f: Any) -> int:
    """Fork; return 0 if the child computes with NumPy and is refused by XLA, 14 if it waits for ever."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.alarm(20)  # ends a child that waits for ever
    try:
        assert calque.grad(lambda x: (x**2).sum())(np.ones(2)).tolist() == [2.0, 2.0]
        assert calque.vmap(calque.lax.sin)(np.zeros(2)).tolist() == [0.0, 0.0]
        assert "which was forked after XLA had started" in refusal(lambda: f(np.ones(3)))
        assert "which was forked after XLA had started" in refusal(lambda: calque.jit(lambda x: x - 1.0)(1.0))
    except BaseException as error:  # noqa: BLE001
        print(repr(error), file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def refusal(call: Callable[[], object]) -> str:
    """Return the message of the RuntimeError of a call."""
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return "no error"


RUNS = {run.__name__: run for run in (calls, drops, errors, train, threads, forks)}

if __name__ == "__main__":
    gc.collect()
    gc.disable()
    print(json.dumps(RUNS[sys.argv[1]](*sys.argv[2:])))
