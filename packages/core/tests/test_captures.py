from __future__ import annotations

import ctypes
import gc
import mmap
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from calque_core import lax, make_jaxpr
from calque_core.memory import captures as captures_module
from calque_core.memory.captures import Captures, _lock, as_read_only, held_arrays, is_held
from calque_core.staging.stage import stage

LARGE = 10_000  # float64 elements, more than 64 KiB


def large() -> np.ndarray:
    return np.zeros(LARGE)


# Copies


def test_a_small_array_is_copied_once_as_long_as_nobody_writes_to_it():
    x, captures = np.zeros(3), Captures()
    first = captures.use(x)
    assert captures.use(x) is first
    x[0] = 1.0
    second = captures.use(x)
    assert first.tolist() == [0.0, 0.0, 0.0]
    assert second.tolist() == [1.0, 0.0, 0.0]
    assert not second.flags.writeable
    assert captures.use(x) is second


def test_a_write_through_an_older_view_is_noticed():
    x, captures = np.ones(3), Captures()
    view = x.view()
    assert captures.use(x).tolist() == [1.0, 1.0, 1.0]
    view[:] = 100.0
    assert captures.use(x).tolist() == [100.0, 100.0, 100.0]


@pytest.mark.parametrize(
    "view", [lambda x: x[::-1], lambda x: x.T, lambda x: x[1:], lambda x: np.broadcast_to(x, (2, 3, 3))]
)
def test_views_that_are_made_anew_share_a_copy(view):
    x, captures = np.arange(9.0).reshape(3, 3), Captures()
    first = captures.use(view(x))
    np.testing.assert_array_equal(first, view(x))
    assert captures.use(view(x)) is first
    x[...] = 7.0
    np.testing.assert_array_equal(captures.use(view(x)), view(x))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.complex128, "bfloat16", ">f4"])
@pytest.mark.parametrize("shape", [(), (0, 2), (3,)])
def test_copies_have_the_shape_and_the_dtype(dtype, shape):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="bfloat16 is defined by ml_dtypes, which comes with jaxlib")
    x, captures = np.ones(shape, dtype), Captures()
    copy = captures.use(x)
    assert copy is not x
    assert (copy.shape, copy.dtype) == (x.shape, x.dtype)
    np.testing.assert_array_equal(copy, x)
    assert captures.use(x) is copy


def test_an_array_in_the_order_of_columns_is_copied_once():
    x, captures = np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]), Captures()
    first = captures.use(x)
    assert captures.use(x) is first
    x[0, 1] = 9.0
    np.testing.assert_array_equal(captures.use(x), x)


def test_not_a_number_and_minus_zero_are_told_apart_by_their_bytes():
    x, captures = np.array([np.nan, 0.0]), Captures()
    first = captures.use(x)
    assert captures.use(x) is first
    x[1] = -0.0
    assert np.signbit(captures.use(x)[1])


def test_what_nobody_can_write_is_not_copied():
    x, captures = np.zeros(3), Captures()
    x.flags.writeable = False
    constant = np.frombuffer(bytes(24))
    for array in (x, constant):
        view = captures.use(array)
        assert view.__array_interface__ == array.__array_interface__
        assert captures.use(array) is view


SET_IN_PLACE = {
    "shape": lambda x: setattr(x, "shape", (2, -1)),
    "dtype": lambda x: setattr(x, "dtype", np.int64),
    "byte order": lambda x: setattr(x, "dtype", ">f8"),
    "strides": lambda x: setattr(x, "strides", (0,)),
}


@pytest.mark.filterwarnings("ignore:Setting the .* has been deprecated:DeprecationWarning")
@pytest.mark.parametrize("change", SET_IN_PLACE.values(), ids=SET_IN_PLACE)
@pytest.mark.parametrize("size", [4, LARGE])
@pytest.mark.parametrize("is_read_only", [True, False])
def test_what_an_operation_used_keeps_its_shape_dtype_and_strides(change, size, is_read_only):
    x, captures = np.arange(float(size)), Captures()
    x.flags.writeable = not is_read_only
    before = captures.use(x)
    change(x)
    after = captures.use(x)
    np.testing.assert_array_equal(before, np.arange(float(size)))
    np.testing.assert_array_equal(after, x)
    assert (after.shape, after.dtype) == (x.shape, x.dtype)
    assert captures.use(x) is after
    captures.release()


def test_the_view_of_an_inner_trace_is_the_view_of_the_outer_one():
    x, consts = np.zeros(LARGE), []
    x.flags.writeable = False

    def f(y):
        for _ in range(3):
            consts.extend(stage(lambda: [lax.sin(x)], []).consts)
        return y + consts[0] + x

    (outer,) = make_jaxpr(f)(np.ones(LARGE)).consts
    assert all(c is outer for c in consts)


def test_the_source_of_an_inner_traces_view_is_held_by_the_outer_trace():
    owner, outer = large(), Captures()
    x, inner = owner[1:], Captures()
    inner._views = outer._views  # as those of a trace inside another one
    view = inner.use(x)
    inner.release()
    assert x.flags.writeable
    assert outer.use(view) is view
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1.0
    outer.release()
    assert x.flags.writeable


def test_a_copy_does_not_keep_the_array_alive():
    x, captures = np.zeros(3), Captures()
    gone = weakref.ref(x)
    captures.use(x)
    del x
    assert gone() is None


def test_an_inner_trace_takes_the_copies_of_the_outer_one():
    table, consts = np.arange(3.0), []

    def f(x):
        for _ in range(5):
            consts.extend(stage(lambda: [lax.sin(table)], []).consts)
        return x + table

    (outer,) = make_jaxpr(f)(np.ones(3)).consts
    assert all(c is outer for c in consts)


# Memory that NumPy does not own


def foreign_memory():
    buffer = (ctypes.c_double * LARGE)()
    pages = mmap.mmap(-1, 8 * LARGE)
    return [np.ctypeslib.as_array(buffer), np.frombuffer(pages), np.frombuffer(bytearray(8 * LARGE))]


@pytest.mark.parametrize("i", range(3))
@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[1:][::-1], lambda x: x.reshape(2, -1).T])
def test_foreign_memory_is_copied_whatever_its_size(i, view):
    x, captures = foreign_memory()[i], Captures()
    viewed = view(x)
    copy = captures.use(viewed)
    assert not np.shares_memory(copy, x)
    x[:] = 5.0
    assert copy.max() == 0.0
    assert captures.use(viewed).min() == 5.0
    captures.release()
    assert x.flags.writeable


def test_foreign_memory_that_is_too_large_is_refused_with_a_hint(monkeypatch):
    monkeypatch.setattr(captures_module, "FOREIGN_BYTES", 1 << 16)
    x = np.frombuffer(bytearray(1 << 20))
    words = (
        r"a writable array of type float64\[131072\] was used at test_captures.py:\d+ \(.*\)\. Its 1 MiB of memory do "
    )
    with pytest.raises(ValueError, match=words + r"not belong to NumPy.* Copy it first: numpy.array\(x\)"):
        make_jaxpr(lambda y: y + x)(1.0)


# Holds


def test_a_large_array_is_read_only_until_its_release():
    x, captures = large(), Captures()
    assert np.shares_memory(captures.use(x), x)
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1.0
    captures.release()
    x[0] = 1.0


@pytest.mark.parametrize("owner_first", [True, False])
def test_a_view_and_its_owner_are_both_given_back(owner_first):
    x = large()
    view, captures = x[1:], Captures()
    for array in (x, view) if owner_first else (view, x):
        captures.use(array)
    assert not x.flags.writeable
    assert not view.flags.writeable
    captures.release()
    assert x.flags.writeable
    assert view.flags.writeable


def test_a_view_waits_for_an_owner_that_somebody_else_holds():
    x = large()
    view, outer, inner = x[1:], Captures(), Captures()
    outer.use(x)
    for _ in range(2):
        inner.use(view)
        inner.release()
        assert not view.flags.writeable
    outer.release()
    assert x.flags.writeable
    assert view.flags.writeable


def test_a_view_that_is_held_longer_than_its_owner_stays_read_only():
    x = large()
    view, outer, inner = x[1:], Captures(), Captures()
    outer.use(x)
    inner.use(view)
    outer.release()
    assert not x.flags.writeable
    inner.release()
    assert x.flags.writeable
    assert view.flags.writeable


def test_two_holders_give_an_array_back_together():
    x, first, second = large(), Captures(), Captures()
    first.use(x)
    second.use(x)
    second.use(x)
    second.release()
    assert not x.flags.writeable
    first.release()
    first.release()
    assert x.flags.writeable


def test_memory_that_only_a_read_only_view_exposes_is_held_too():
    owner, captures = large(), Captures()
    view = owner[1:]
    view.flags.writeable = False
    captures.use(view)
    with pytest.raises(ValueError, match="read-only"):
        owner[0] = 1.0
    captures.release()
    assert owner.flags.writeable
    assert not view.flags.writeable


STRIDED = {
    "sliding_window_view": lambda x: np.lib.stride_tricks.sliding_window_view(x, 3),
    "as_strided": lambda x: np.lib.stride_tricks.as_strided(x, writeable=False),
    "a view of as_strided": lambda x: np.lib.stride_tricks.as_strided(x, writeable=False)[1:],
    "memoryview": lambda x: np.asarray(memoryview(x).toreadonly()),
}


@pytest.mark.parametrize("view", STRIDED.values(), ids=STRIDED)
def test_a_read_only_view_behind_an_object_of_numpys_is_copied_or_its_owner_held(view):
    small, big, captures = np.zeros(8), large(), Captures()
    copy = captures.use(view(small))
    small[:] = 5.0
    assert copy.max() == 0.0
    captures.use(view(big))
    with pytest.raises(ValueError, match="read-only"):
        big[0] = 1.0
    captures.release()
    assert big.flags.writeable


@pytest.mark.parametrize("make", [np.lib.stride_tricks.as_strided, lambda x: np.asarray(memoryview(x))])
def test_a_writable_array_behind_an_object_of_numpys_is_copied(make):
    x, captures = large(), Captures()
    view = make(x)
    assert not np.shares_memory(captures.use(view), x)
    captures.release()
    assert view.flags.writeable


def test_an_owner_that_is_frozen_meanwhile_leaves_its_view_read_only_without_an_error():
    x, captures = large(), Captures()
    view = x[1:]
    view.flags.writeable = True
    captures.use(view)
    del held_arrays[id(x)], captures.held[id(x)]  # as if its user had made it read-only for good
    captures.release()
    assert not view.flags.writeable
    assert held_arrays == {}


def test_what_was_held_is_forgotten_and_can_be_collected():
    x, captures = large(), Captures()
    gone = weakref.ref(x)
    captures.use(x)
    captures.release()
    del x
    assert gone() is None
    assert held_arrays == {}


def test_captures_that_nobody_releases_give_back_when_they_are_collected():
    x, captures = large(), Captures()
    captures.use(x)
    del captures
    gc.collect()
    assert x.flags.writeable
    assert not is_held(x)


def test_eight_threads_hold_and_release_one_array():
    x, barrier = large(), threading.Barrier(8)
    view = x[1:]

    def work(number):
        barrier.wait()
        for _ in range(300):
            captures, mine = Captures(), x if number % 2 else view
            captures.use(mine)
            assert not mine.flags.writeable
            captures.release()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert x.flags.writeable
    assert view.flags.writeable
    assert held_arrays == {}


@pytest.mark.parametrize("line", range(40))
def test_an_interrupt_at_any_line_leaves_no_array_held(line):
    """Raise once, at the n-th line that runs in the module, and let Python's own clean-up do the rest."""
    x, left = large(), [line]
    view = x[1:]

    def interrupt(frame, event, _):
        if frame.f_code.co_filename != captures_module.__file__:
            return None
        if event == "line":
            left[0] -= 1
            if left[0] == -1:
                raise KeyboardInterrupt
        return interrupt

    def work():
        with Captures() as captures:
            captures.use(x)
            captures.use(view)

    sys.settrace(interrupt)
    try:
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
        while _lock._is_owned():  # a trace function can raise between a block's last line and its exit, no signal can
            _lock.release()
    assert x.flags.writeable
    assert view.flags.writeable
    with Captures() as captures:
        captures.use(large())
    assert held_arrays == {}


def test_what_is_kept_is_copied_only_if_somebody_can_write_it():
    x, constant = large(), np.ones(3)
    constant.flags.writeable = False
    assert as_read_only("device array") == "device array"
    assert as_read_only(constant) is constant
    with Captures() as captures:
        captures.use(x)
        copy = as_read_only(x)
    assert not np.shares_memory(copy, x)
    assert not copy.flags.writeable
