import numpy as np
import pytest

from calque_batching import vmap
from calque_core import ShapeDtypeStruct, debug, io_callback, lax, make_jaxpr, pure_callback
from calque_core.errors import ShapeError

F64 = ShapeDtypeStruct((), np.float64)
METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all")


def shapes_seen(method, *args, in_axes=0, result=F64):
    """Return the shapes of the arguments of each call, and the result."""
    shapes = []

    def call(*xs):
        shapes.append([x.shape for x in xs])
        return sum(xs)

    out = vmap(lambda *xs: pure_callback(call, result, *xs, vmap_method=method), in_axes=in_axes)(*args)
    return shapes, out


def test_methods_differ_in_the_calls():
    xs, y = np.arange(3.0), np.float64(1)
    expected = {
        "sequential": [[(), ()]] * 3,
        "sequential_unrolled": [[(), ()]] * 3,
        "expand_dims": [[(3,), (1,)]],
        "broadcast_all": [[(3,), (3,)]],
    }
    for method in METHODS:
        shapes, out = shapes_seen(method, xs, y, in_axes=(0, None))
        assert shapes == expected[method]
        assert out.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("method", METHODS)
def test_methods_agree_on_any_axis_and_depth(method):
    x = np.arange(24.0).reshape(2, 3, 4)
    row = ShapeDtypeStruct((3,), np.float64)
    double = lambda x: pure_callback(lambda x: x * 2, row, x, vmap_method=method)
    out = vmap(vmap(double, in_axes=1, out_axes=1), in_axes=0)(x)
    assert np.array_equal(out, 2 * x)
    staged = make_jaxpr(vmap(vmap(double, in_axes=1, out_axes=1)))(x)
    assert sum(eqn.primitive.name == "pure_callback" for eqn in staged.eqns) == 1


@pytest.mark.parametrize("method", METHODS)
def test_a_batch_may_be_empty(method):
    _, out = shapes_seen(method, np.zeros(0))
    assert (out.shape, out.dtype) == ((0,), np.float64)


def test_a_method_must_be_chosen():
    with pytest.raises(TypeError, match=r"pure_callback of sin at .* has no vmap_method.*Use vmap_method='sequential'"):
        vmap(lambda x: pure_callback(np.sin, F64, x))(np.arange(2.0))


def test_a_whole_batch_is_checked():
    with pytest.raises(ShapeError, match=r"returned float64\[\] as its result, but .* declares float64\[2\]"):
        vmap(lambda x: pure_callback(np.sum, F64, x, vmap_method="expand_dims"))(np.arange(2.0))


def test_calls_with_effects_happen_for_each_element():
    calls = []
    out = vmap(lambda x, y: io_callback(lambda x, y: calls.append((int(x), int(y))) or x + y, x, x, y), (0, None))(
        np.arange(3), 5
    )
    assert calls == [(0, 5), (1, 5), (2, 5)]
    assert out.tolist() == [5, 6, 7]
    calls.clear()
    vmap(lambda x: debug.callback(lambda x, name: calls.append((x.shape, name)), x, "s"))(np.ones((2, 3)))
    assert calls == [((3,), "s")] * 2


def test_a_call_without_mapped_operands_happens_once(capsys):
    vmap(lambda x: (debug.print("once"), x)[1])(np.arange(3))
    assert capsys.readouterr().out == "once\n"


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: debug.print("{}", x, ordered=True), "a debug callback"),
        (lambda x: io_callback(len, None, x, ordered=True), "io_callback"),
    ],
)
def test_the_elements_of_a_batch_have_no_order(call, name):
    with pytest.raises(TypeError, match=rf"{name} at .* is ordered, but the elements of vmap have no order.*lax.scan"):
        vmap(call)(np.arange(2))


def test_both_branches_may_be_looked_at_but_not_caused():
    seen = []
    look = lambda label: lambda x: (debug.callback(lambda x: seen.append((label, int(x))), x), x)[1]
    vmap(lambda x: lax.cond(x > 0, look("positive"), look("other"), x))(np.array([-1, 1]))
    assert sorted(seen) == [("other", -1), ("other", 1), ("positive", -1), ("positive", 1)]
    with pytest.raises(TypeError, match="a branch has the effect io"):
        vmap(lambda x: lax.cond(x > 0, lambda x: io_callback(abs, x, x), lambda x: x, x))(np.array([-1, 1]))


def test_a_loop_with_a_mapped_condition_may_be_looked_at_but_not_caused():
    seen = []
    body = lambda x: (debug.callback(lambda x: seen.append(int(x)), x), x + 1)[1]
    assert vmap(lambda x: lax.while_loop(lambda x: x < 3, body, x))(np.array([1, 2])).tolist() == [3, 3]
    assert len(seen) == 4  # two steps for both elements: the second element has left the loop after one
    with pytest.raises(TypeError, match=r"effect io\. Finished elements would cause it again"):
        vmap(lambda x: lax.while_loop(lambda x: x < 3, lambda x: io_callback(np.add, x, x, 1), x))(np.array([1, 2]))
