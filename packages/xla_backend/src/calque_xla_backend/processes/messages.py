"""Values that each process of a program gives to all other ones, through the coordinator.

One idea: an exchange is a round in which every process leaves one message and then reads all of them.  The rounds are
numbered alike in all processes, which call the same functions in the same order; a message begins with the call it
comes from, so that processes that have lost their order get an error instead of each other's values.

Read next: `calque_xla_backend/multihost.py`, the functions for users.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_core.extend import where
from calque_xla_backend.processes.watch import current_watch
from calque_xla_backend.runtime.distributed import Group

Array = np.ndarray[Any, Any]
_LIMIT = 2**29  # bytes of all messages of a round, which travel in one message of at most 2 GiB


class Message(NamedTuple):
    """The message of one process in a round: the call, its place, a note for the call, and arrays."""

    call: str
    place: str
    note: Any  # of JSON
    arrays: Sequence[Array]


def exchange(
    group: Group, call: str, note: Any, arrays: Sequence[Array] = (), seconds: float | None = None
) -> list[Message]:
    """Return the messages of all processes in a round, by process.

    Raises: RuntimeError if a process is in another call; TimeoutError after some seconds; ValueError for too many
    bytes; PeerError if a process is lost.
    """
    round_number = next(group.rounds)
    _check_size(group, call, arrays)
    message = Message(call, where(), note, arrays)
    folder = f"calque/round/{round_number}"
    group.write(f"{folder}/message/{group.process_id:08}", _encode(message))
    if group.increment(f"{folder}/count") == group.num_processes:
        group.write(f"{folder}/complete", b"1")
    _wait(group, call, f"{folder}/complete", seconds)
    messages = [_decode(value) for _, value in group.items(f"{folder}/message")]
    if group.process_id == 0 and round_number:
        group.delete(f"calque/round/{round_number - 1}")  # all processes have read it: they are in this round
    _check_calls(message, messages)
    return messages


def _wait(group: Group, call: str, key: str, seconds: float | None) -> None:
    end = None if seconds is None else time.monotonic() + seconds
    while group.read(key) is None:
        watch = current_watch()
        if watch is not None:
            watch.check()
        if end is not None and time.monotonic() > end:
            raise TimeoutError(f"{call}{where()}: not all processes came to this call within {seconds:g} seconds.")


def _check_size(group: Group, call: str, arrays: Sequence[Array]) -> None:
    size = sum(x.nbytes for x in arrays) * group.num_processes
    if size > _LIMIT:
        raise ValueError(
            f"{call}{where()} got {size // group.num_processes} bytes on each of {group.num_processes} processes, more "
            f"than the {_LIMIT} bytes in all that go through the coordinator. Make a global array of them with "
            "make_array_from_process_local_data, and let a jitted function combine it on the devices."
        )


def _check_calls(ours: Message, messages: Sequence[Message]) -> None:
    for i, message in enumerate(messages):
        if message.call != ours.call:
            raise RuntimeError(
                f"{ours.call}{ours.place}: process {i} is in {message.call}{message.place} instead. "
                "All processes must call the functions of multihost in one order."
            )


# Bytes: a line of JSON, then the elements of the arrays


def _encode(message: Message) -> bytes:
    types = [(x.dtype.name, x.shape) for x in message.arrays]
    head = json.dumps([message.call, message.place, message.note, types]).encode()
    return b"\n".join([head, b"".join(np.ascontiguousarray(x).tobytes() for x in message.arrays)])


def _decode(encoded: bytes) -> Message:
    head, _, data = encoded.partition(b"\n")
    call, place, note, types = json.loads(head)
    arrays, start = [], 0
    for name, shape in types:
        dtype = np.dtype(name)
        count = int(np.prod(shape, dtype=np.int64))
        arrays.append(np.frombuffer(data, dtype, count, start).reshape(shape).copy())
        start += count * dtype.itemsize
    return Message(call, place, note, arrays)
