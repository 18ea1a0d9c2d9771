"""One plan for arrays of every size: operations on elements give later shapes what the rules give them.

The plan is made for arrays of one shape.  Arrays of other shapes then run its code: of one element and of none, of more
axes, large ones, whose code writes to dead arrays.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from test_plans import assert_same, outcome

import calque
import calque.scipy.special as special
from calque_autodiff.known.tables import linearizations
from calque_autodiff.rules.shapes import shape
from calque_autodiff.traces.jvp_trace import JVPTrace
from calque_core import ShapedArray, UnexpectedTracerError, config, lax
from calque_core.known import table

SHAPES = [(4,), (1,), (0,), (3000,), (5,), (2000,), (2, 3), (3, 1), (1, 4)]
UFUNCS = {u for u in vars(np).values() if isinstance(u, np.ufunc) and u.signature is None and u.nout == 1}
UNARY = {
    **{u.__name__: u for u in sorted(UFUNCS, key=lambda u: u.__name__) if u.nin == 1},
    "-x": lambda x: -x,
    "abs(x)": abs,
    "x**3": lambda x: x**3,
    "x**0.5": lambda x: x**0.5,
    "1/x": lambda x: 1 / x,
    "2-x": lambda x: 2 - x,
    "2.0*x": lambda x: 2.0 * x,
    "3**x": lambda x: 3**x,
    "x//0.3": lambda x: x // 0.3,
    "x%0.3": lambda x: x % 0.3,
    "clip": lambda x: np.clip(x, 0.2, 0.6),
    "where": lambda x: np.where(x > 0.5, x, 0.0),
    "lax": lambda x: lax.mul(lax.logistic(x), lax.sin(x)),
    "sum": lambda x: x * np.sum(x * x),
    "sum(x)": np.sum,
    "x.sum(axis=0)": lambda x: x.sum(axis=0),
    "sum(x, keepdims=True)": lambda x: np.sum(x, keepdims=True),
    "sum(x, where=)": lambda x: np.sum(x, where=x.real > 0.5),
    "sum(x, initial=2)": lambda x: np.sum(x, initial=2.0),
    "mean(x)": np.mean,
    "x.mean(-1)": lambda x: x.mean(-1),
    "2 * mean(x) - sum(x)": lambda x: 2.0 * np.mean(x) - np.sum(x),
    "x[1:]": lambda x: x[1:],
    "x[:-1] * x[1:]": lambda x: x[:-1] * x[1:],
    "x[::2]": lambda x: x[::2],
    "x[::-1]": lambda x: x[::-1],
    "x[-2::-1]": lambda x: x[-2::-1],
    "x[0:3]": lambda x: x[0:3],
    "x[2]": lambda x: x[2],
    "x[-1] * x[0]": lambda x: x[-1] * x[0],
    "x[..., 0]": lambda x: x[..., 0],
    "x[None, 1:]": lambda x: x[None, 1:],
    "x[1:][1:]": lambda x: x[1:][1:],
    "x[:, 1]": lambda x: x[:, 1] if x.ndim > 1 else x[:0],
    "x[np.int64(1)]": lambda x: x[np.int64(1)],
    "x[[0, 1]]": lambda x: x[[0, 1]],
    "x[mask]": lambda x: np.sum(x[np.arange(x.shape[0]) % 2 == 0]),
    "x[positions]": lambda x: x[np.arange(x.shape[0]) // 2],
    "x[positions] ** 2": lambda x: x[[0, 0, -1]] ** 2 * x[np.arange(x.shape[0])[:, None] % 2][0],
    "x[..., positions]": lambda x: x[..., np.arange(x.shape[-1]) // 2],
    "x[positions, positions]": lambda x: x[(np.arange(x.shape[0]) // 2,) * x.ndim],
    "x[1:][positions]": lambda x: x[1:, None][np.arange(x.shape[0] - 1) // 2],
    "x.at[positions].get": lambda x: lax.mul(calque.numpy.at(x)[np.arange(9)].get(mode="clip"), 2.0),
    **{name: getattr(special, name) for name in ("logit", "expit", "entr", "erf", "gammaln", "digamma", "i0", "ndtr")},
}
BINARY = {
    **{u.__name__: u for u in sorted(UFUNCS, key=lambda u: u.__name__) if u.nin == 2},
    "x+y": lambda x, y: x + y,
    "x*y": lambda x, y: x * y,
    "x/y": lambda x, y: x / y,
    "x**y": lambda x, y: x**y,
    "where2": lambda x, y: np.where(x > y, x, y),
    **{name: getattr(special, name) for name in ("xlogy", "betaln", "gammainc", "rel_entr")},
}
PARTNERS = {
    "array": lambda x: x[::-1] + 0.25,
    "scalar": lambda x: np.float32(0.4) if x.dtype == np.float32 else np.float64(0.4),
    "number": lambda x: 0.4,
    "integers": lambda x: np.arange(1, x.size + 1).reshape(x.shape),
    "column": lambda x: np.asarray(x[..., :1]) + 0.25,  # broadcasts: equal shapes for an axis of size 1 alone
}


def numbers(shape, dtype):
    """Return numbers between 0 and 1, of which none is special."""
    x = np.random.default_rng(7).uniform(0.1, 0.9, shape)
    return (x + 0.3j * x if dtype == "complex128" else x).astype(dtype)


def backward(f, *args):
    """Return the value, and the cotangents of all arguments that are floats."""
    moving = [i for i, x in enumerate(args) if np.asarray(x).dtype.kind in "fc"]

    def of_moving(*values):
        full = list(args)
        for i, value in zip(moving, values, strict=True):
            full[i] = value
        return f(*full)

    out, pull = calque.vjp(of_moving, *[args[i] for i in moving])
    out_dot = np.asarray(out)
    return out, pull(out_dot) if out_dot.dtype.kind in "fc" else None


def forward(f, x, *args):
    out, out_dot = calque.jvp(lambda x: f(x, *args), (x,), (x,))
    return (out, out_dot) if np.asarray(out).dtype.kind in "fc" else out


def twice(f, x, *args):
    return forward(lambda x: backward(lambda x: f(x, *args), x)[1], x)


def kept(f, x, *args):
    """Return the linear function of a derivative as its numbers, and its results: under `vmap`, after a round trip."""
    out, pull = calque.vjp(lambda x: f(x, *args), x)
    if np.asarray(out).dtype.kind not in "fc":
        return out
    cts = np.stack([np.asarray(out), np.asarray(out)])
    again = calque.tree.map(lambda leaf: leaf, pull)
    # Of large arrays, rules that work block by block keep other numbers than code does.
    numbers_kept = calque.tree.leaves(pull) if np.size(out) < 10_000 else []
    return out, calque.vmap(pull)(cts), again(np.asarray(out)), numbers_kept


def on_device(f, x, *args):
    return backward(f, calque.device_put(x), *args)


WAYS = {"on device": on_device, "backward": backward, "forward": forward, "twice": twice, "kept": kept}


def check(f, arguments, way, first=(3,), shapes=SHAPES):
    """Compare the results in each shape with those of the rules, after plans were made for the first shape."""
    run = WAYS[way]
    with np.errstate(all="ignore"):
        table.forget_known_operations()
        for _ in range(4):
            outcome(lambda: run(f, *arguments(first)))
        cases = [shape for shape in shapes for _ in range(2)] + [shapes[0]] * 4
        later = [outcome(partial(run, f, *arguments(shape))) for shape in cases]
        for shape, got in zip(cases, later, strict=True):
            table.forget_known_operations()
            assert_same(outcome(partial(run, f, *arguments(shape))), got)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.sampled(keep=0.1)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array(name, dtype, way):
    check(UNARY[name], lambda shape: [numbers(shape, dtype)], way)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.sampled(keep=0.04)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("partner", PARTNERS)
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays(name, partner, dtype, way):
    def arguments(shape):
        x = numbers(shape, dtype)
        return [x, PARTNERS[partner](x)]

    check(BINARY[name], arguments, way)


SIZES = [(4, 4, 4), (2, 7, 3), (1, 4, 5), (3, 1, 5), (3, 4, 1), (0, 4, 5), (3, 0, 2), (60, 50, 40), (6, 2, 2)]
MATRICES = {
    "x.sum(0)": lambda x: x.sum(0),
    "sum(x, -1, keepdims=True)": lambda x: np.sum(x, -1, keepdims=True),
    "sum(x, (1, 0))": lambda x: np.sum(x, (1, 0)),
    "sum(x, ())": lambda x: np.sum(x, ()),
    "x.mean(1)": lambda x: x.mean(1),
    "x - mean(x, 0)": lambda x: x - np.mean(x, 0),
    "x - mean(x, -1, keepdims=True)": lambda x: x - np.mean(x, -1, keepdims=True),
    "x.max(1)": lambda x: x.max(1),
    "min(x)": lambda x: np.min(x),
    "x - max(x, 0, keepdims=True)": lambda x: x - np.max(x, 0, keepdims=True),
    "softmax": lambda x: np.exp(x - x.max(-1, keepdims=True)) / np.exp(x).sum(-1)[:, None],
    "var(x, 1)": lambda x: np.var(x, 1),
    "std(x, keepdims=True)": lambda x: np.std(x, keepdims=True),
    "cumsum(x, 0)": lambda x: np.cumsum(x, 0),
    "diff(x)": lambda x: np.diff(x),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x[:2] ** 2),
    "einsum of three": lambda x: np.einsum("i,ij,kj->ik", x[:, 0], x, x[:2]),
    "tensordot and inner": lambda x: np.tensordot(x, x.T, 1) + np.inner(x, x[::-1]),
    "vdot": lambda x: np.vdot(x, np.sin(x)),
    "lax.reduce_sum": lambda x: lax.mul(lax.reduce_sum(x, 0), lax.reduce_max(x, 0)),
    "x.T": lambda x: x.T * 2.0,
    "transpose(x, (0, 1))": lambda x: np.transpose(x, (0, 1)),
    "x.transpose()": lambda x: np.sin(x).transpose(),
    "x.T @ x": lambda x: x.T @ x,
    "x @ x": lambda x: x @ x,
    "dot(x[0], x.T)": lambda x: np.dot(x[0], x.T),
    "x @ ones": lambda x: x @ np.ones(x.shape[1]),
    "ones @ x": lambda x: np.ones((2, x.shape[0])) @ x,
    "lax.dot": lambda x: lax.dot(x, lax.transpose(x, (1, 0))),
    "x * row": lambda x: x * np.arange(1.0, x.shape[1] + 1.0),
    "x * x[0] + x[:, :1]": lambda x: x * x[0] + x[:, :1],
    "where(mask, x, row)": lambda x: np.where(np.arange(x.shape[0])[:, None] > 1, x, x[-1] ** 2),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.sampled(keep=0.1)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("name", MATRICES)
def test_functions_of_one_matrix(name, dtype, way):
    check(MATRICES[name], lambda sizes: [numbers(sizes[:2], dtype)], way, (3, 4, 5), SIZES)


REPEATED = {
    "a row": lambda n, k, m: ((n, k), (k,)),
    "a column": lambda n, k, m: ((n, 1), (n, k)),
    "an outer product": lambda n, k, m: ((n, 1), (k,)),
    "one element": lambda n, k, m: ((n, k), (1, 1)),
    "three axes": lambda n, k, m: ((n, 1, k), (m, 1)),
}
FACTORS = {
    "matrices": lambda n, k, m: ((n, k), (k, m)),
    "a matrix and a vector": lambda n, k, m: ((n, k), (k,)),
    "a vector and a matrix": lambda n, k, m: ((k,), (k, m)),
    "vectors": lambda n, k, m: ((k,), (k,)),
    "matrices and a matrix": lambda n, k, m: ((n, 2, k), (k, m)),
    "a matrix and matrices": lambda n, k, m: ((n, k), (2, k, m)),
    "pairs of matrices": lambda n, k, m: ((m, n, k), (m, k, 2)),
}
OF_TWO = {
    **{
        name: (BINARY[name], REPEATED)
        for name in ("x+y", "x*y", "x/y", "x**y", "where2", "hypot", "maximum", "logaddexp")
    },
    **{f"special.{name}": (BINARY[name], REPEATED) for name in ("xlogy", "betaln")},
    "x-y": (lambda x, y: x - y, REPEATED),
    "x @ y": (lambda x, y: x @ y, FACTORS),
    "matmul": (np.matmul, FACTORS),
    "dot": (np.dot, FACTORS),
    "sin(x) @ y": (lambda x, y: np.sin(x) @ y, FACTORS),
}
CASES_OF_TWO = [(name, shapes) for name, (_, table) in OF_TWO.items() for shapes in table]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.sampled(keep=0.04)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtypes", [("float64", "float64"), ("float32", "float32"), ("float64", "complex128")])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first", "second"])
@pytest.mark.parametrize(("name", "shapes"), CASES_OF_TWO)
def test_functions_of_two_arrays_of_other_shapes(name, shapes, order, dtypes, way):
    """`order` tells which array has the tangent, where one has it alone."""
    f, table = OF_TWO[name]

    def arguments(sizes):
        return [numbers(shape, dtype) for shape, dtype in zip(table[shapes](*sizes), dtypes, strict=True)][
            :: 1 - 2 * order[0]
        ]

    check(f if order == (0, 1) else lambda x, y: f(y, x), arguments, way, (3, 4, 5), SIZES)


@pytest.mark.parametrize("around", [config.enable_x64, lambda: config.enable_x64(False)], ids=["64 bits", "32 bits"])
def test_new_lengths_run_no_rule(around, monkeypatch):
    ran, run_rule = [], JVPTrace.run_rule
    count = lambda self, primitive, *rest: ran.append(primitive.name) or run_rule(self, primitive, *rest)
    monkeypatch.setattr(JVPTrace, "run_rule", count)
    loss = calque.grad(lambda x, w: np.sum(np.where(x > 0.5, np.tanh(w * x) ** 2, 3.0 - x) / (1.0 + x)), (0, 1))
    read = lambda x, order: np.sum(x[order[1:]] * x[1:]) + np.sum(x[order > 2]) + np.sum(x[order, order % 3])
    params = {"w": np.ones((3, 2)), "b": np.ones(2), "v": np.ones((2, 2))}
    with around():
        table.forget_known_operations()
        for n in range(3, 40):
            ran.clear()
            loss(np.linspace(0.0, 1.0, n), 0.3)
            calque.grad(lambda x: np.mean((x[1:] - x[:-1]) ** 2) * x[0] + x[1:][-1])(np.linspace(0.0, 1.0, n))
            calque.grad(read)(np.ones((n, 3)), np.arange(n)[::-1])
            calque.grad(network)(params, np.ones((n, 3)))
            assert not ran or n < 9
    with around():
        for n in (38, 38, 39):
            loss(np.linspace(0.0, 1.0, n), 0.3)
    kept = linearizations._taken
    assert len({key[0] for key in kept if type(key[2]) is ShapedArray and key[2].shape == (38,)}) >= 6


def network(params, x):
    """Return the mean loss of a network for a batch `x`."""
    hidden = np.tanh(x @ params["w"] + params["b"])
    scores = np.dot(hidden, params["v"]) / np.sum(params["b"])
    scores = scores - np.max(scores, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(scores), axis=1)) - scores[:, 0]) + np.sum(hidden.mean(0))


def test_an_index_that_leaves_an_array_of_another_length_is_an_error_in_words():
    third = calque.grad(lambda x: x[2] * 2.0)
    for n in range(3, 9):
        np.testing.assert_array_equal(third(np.ones(n)), 2.0 * (np.arange(n) == 2))
    with pytest.raises(IndexError, match=r"index 2 is out of (range|bounds) .* test_plans_of_all_shapes\.py"):
        third(np.ones(2))


def test_an_index_of_an_outer_trace_is_an_operand_at_every_call():
    index, x = np.array([[0, 0, 1], [2, 1, 1]]), np.arange(5.0)
    table.forget_known_operations()
    for _ in range(5):
        got = calque.vmap(lambda i: calque.grad(lambda x: np.sum(x[i] ** 3))(x))(index)
        np.testing.assert_array_equal(got, [[0.0, 3.0, 0.0, 0.0, 0.0], [0.0, 6.0, 12.0, 0.0, 0.0]])


def test_the_type_of_a_cut_takes_no_memory():
    aval = ShapedArray((1 << 50, 2), "float64")
    lines = shape.cut_in_every_size(None, [(slice(1, None), 0)])(aval)
    assert lines.out_aval == ShapedArray(((1 << 50) - 1,), "float64")


def test_a_cut_of_another_length_is_a_view_to_operators_in_place():
    def f(x):
        y = x[1:]
        y += 1.0
        return np.sum(y * x[:-1])

    for n in range(3, 9):
        with pytest.raises(UnexpectedTracerError, match=r"after '\+=' at test_plans_of_all_shapes\.py"):
            calque.grad(f)(np.ones(n))
