"""Profiles: the spans of time of Python, calque and XLA, as one file that a trace viewer shows.

One idea: XLA has a recorder for its own spans, and takes spans of ours beside them.  A phase of a call (to trace,
lower, compile, run) is such a span; while nobody records, it costs 0.2 us, and a warm call opens none.

Read next: `calls/cache.py`, which sends warm calls by the general path while a profile is on.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any, Self

from jaxlib import _profiler  # type: ignore[attr-defined]

from calque_core.engine import active
from calque_core.extend import where
from calque_xla_backend.runtime.clients import client


class phase:
    """A step of a call, for a `with` block: a span of the profile, if one is on, and its time in `seconds`."""

    __slots__ = ("began", "seconds", "span")

    def __init__(self, verb: str, name: str) -> None:
        self.span = _profiler.TraceMe(f"{verb} {name}")

    def __enter__(self) -> Self:
        self.span.__enter__()
        self.began = perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds = perf_counter() - self.began
        self.span.__exit__(*error)


class TraceAnnotation:
    """A span of your own in a profile, for a `with` block; `values` stand beside its name.

    >>> from calque_xla_backend import TraceAnnotation
    >>> with TraceAnnotation("read batch", number=3):
    ...     pass
    """

    __slots__ = ("span",)

    def __init__(self, name: str, **values: Any) -> None:
        self.span = _profiler.TraceMe(name, **values)

    def __enter__(self) -> None:
        self.span.__enter__()

    def __exit__(self, *error: object) -> None:
        self.span.__exit__(*error)


def is_profiling() -> bool:
    """Tell whether `profile` records in this process."""
    return profile in active


class profile:
    """Record a `with` block, in all threads, and write the profile to the file `path`.

    The file is a Chrome trace, in JSON, which https://ui.perfetto.dev and chrome://tracing show.  It has calque's spans
    (to trace, lower, compile and run a function), XLA's own, and those of `TraceAnnotation`.  If `path` ends in `.gz`,
    the file is compressed.  The file is written if the block raises an error, too.
    Raises: FileNotFoundError if the folder of `path` does not exist, IsADirectoryError if `path` is a folder, both
    before the block; RuntimeError if a profile is on, or, at the end, if another library recorded one.

    >>> import tempfile
    >>> import numpy as np
    >>> from calque_xla_backend import jit, profile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with profile(folder + "/trace.json"):
    ...         _ = jit(np.sin)(1.0).block_until_ready()
    """

    __slots__ = ("path", "session")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = _checked_path(path)

    def __enter__(self) -> None:
        self.session = _start()
        active[profile] = None  # warm calls look there in any case, and then ask whether a profile is on

    def __exit__(self, *error: object) -> None:
        active.pop(profile, None)
        _write(self.session, self.path)


def _checked_path(path: str | os.PathLike[str]) -> Path:
    target = Path(path).expanduser().absolute()
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"profile{where()} cannot write {str(target)!r}: the folder {str(target.parent)!r} does not exist. Make it "
            "first, or give another path."
        )
    if target.is_dir():
        raise IsADirectoryError(
            f"profile{where()} got {str(target)!r}, which is a folder. Give the path of a file, such as 'trace.json'."
        )
    return target


def _start() -> Any:
    """Start XLA's recorder.  Raises: RuntimeError if a profile is on."""
    if is_profiling():
        raise RuntimeError(f"profile{where()}: another profile is on in this process. End that one first.")
    client()  # a recorder that starts before the devices do not see them
    options = _profiler.ProfileOptions()
    options.python_tracer_level = 0  # a span for each call of a Python function would be most of the file
    options.raise_error_on_start_failure = True
    return _profiler.ProfilerSession(options)


def _write(session: Any, target: Path) -> None:
    """Write the recorded spans.  Raises: RuntimeError if another library recorded at the same time."""
    try:
        recorded = session.stop()
    except RuntimeError as error:  # XLA says so at the end only
        raise RuntimeError(
            f"profile{where()}: XLA recorded a profile for another library of this process, so there is none for "
            f"{str(target)!r}. End that one first."
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        session.export(recorded, folder)
        (compressed,) = Path(folder).rglob("*.trace.json.gz")
        content = compressed.read_bytes()
    target.write_bytes(content if target.suffix == ".gz" else gzip.decompress(content))
