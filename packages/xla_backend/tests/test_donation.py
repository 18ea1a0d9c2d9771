import numpy as np
import pytest

from calque_core import config, make_jaxpr
from calque_pytree import tree_leaves
from calque_xla_backend import device_put, jit
from calque_xla_backend.calls.donation import DonatedArguments, donated_arguments
from calque_xla_backend.modules.reuse import reused_by


def test_donated_positions_are_checked():
    assert donated_arguments(lambda x, y, /: x, (0, -1), None) == DonatedArguments((0, 1))
    assert donated_arguments(lambda x, y: x, (0, -1), None) == DonatedArguments((0, 1), ("x", "y"))
    assert donated_arguments(lambda x, y: x, None, "y") == DonatedArguments((1,), ("y",))
    assert donated_arguments(lambda x: x, None, None) == DonatedArguments()
    assert donated_arguments(max, -1, None) == DonatedArguments((-1,))
    with pytest.raises(
        ValueError,
        match=r"donate_argnums=2, but the function has 1 positional argument\. Count from 0, or .* donate_argnames\.$",
    ):
        donated_arguments(lambda x: x, 2, None)


LISTED = device_put(np.int32(0))
F4, I4 = np.ones(3, np.float32), np.ones(3, np.int32)
PROGRAMS = {  # a function, its donated arguments, and the argument whose memory each result takes
    "a captured device array before": (lambda x: (LISTED, x + 1), [np.float32(1)], [None, 0]),
    "a constant of another dtype before": (lambda x: (np.zeros(3, np.int32), x + 1), [F4], [None, 0]),
    "a constant of the same type before": (lambda x: (np.arange(3, dtype=np.float32), x + 1), [F4], [None, 0]),
    "another shape of equal size before": (lambda x: (x.reshape(3, 1) * 2, x + 1), [F4], [None, 0]),
    "another dtype of equal size before": (lambda x: (x.astype(np.int32), x + 1), [F4], [None, 0]),
    "two arguments of equal size": (lambda x, y: (x.astype(np.int32), y + 1, x + 1), [F4, I4], [None, 1, 0]),
    "two arguments that change places": (lambda x, y: (y * 2, x * 3), [F4, F4 + 1], [1, 0]),
    "the argument itself after its successor": (lambda x: (x + 1, x), [F4], [None, 0]),
    "the only result of its type is a constant": (lambda x: (np.zeros(3, np.float32), np.sum(x)), [F4], [0, None]),
    "no result of its type": (lambda x: x.astype(np.float64), [F4], [None]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_donated_argument_gives_its_memory_to_the_result_that_is_computed_from_it(name):
    f, arguments, wanted = PROGRAMS[name]
    want = [np.asarray(x) for x in tree_leaves(f(*arguments))]
    donated = [device_put(x) for x in arguments]
    places = [x.unsafe_buffer_pointer() for x in donated]
    outs = tree_leaves(jit(f, donate_argnums=tuple(range(len(donated))))(*donated))
    for out, value in zip(outs, want, strict=True):
        np.testing.assert_array_equal(out, value)
        assert out.dtype == value.dtype
    taken = [out.unsafe_buffer_pointer() for out in outs]
    assert [places.index(p) if p in places else None for p in taken] == wanted
    assert all(x.is_deleted() for x, i in zip(donated, range(9)) if i in wanted)


def test_results_of_a_program_of_many_donated_arguments_are_numbered_by_their_sources():
    def step(*xs):
        return [xs[(i + 1) % len(xs)] * 2.0 for i in range(len(xs))]

    jaxpr = make_jaxpr(step)(*[1.0] * 100)
    assert reused_by(jaxpr, range(100)) == {i: (i - 1) % 100 for i in range(100)}


def test_a_donated_argument_without_a_result_of_its_type_is_told_where_the_setting_says_so(recwarn):
    x = np.ones((2, 3), np.float32)
    jit(lambda x: x.sum(), donate_argnums=0)(device_put(x))
    assert not recwarn.list
    call = jit(lambda x, y: x.sum() + y, donate_argnums=(0, 1))
    words = r"not usable: float32\[2,3\]\. No result .* has such a shape and dtype\. Leave these"
    with config.unused_donations("warn"), pytest.warns(UserWarning, match=words):
        call(device_put(x), device_put(np.ones(2, np.float32)))


def test_the_warning_comes_with_the_program_of_a_stage():
    with config.unused_donations("warn"), pytest.warns(UserWarning, match=r"not usable: float32\[3\]"):
        jit(lambda x: x.sum(), donate_argnums=0).lower(np.ones(3, np.float32))
