"""The acceptance examples that need two packages or more, each under its id, and the count of all of them.

| id | claim |
| --- | --- |
| A-18 | the Jacobian of an elementwise function |
| A-32 | `jit` of a second derivative |
| A-33, A-34, A-35 | one trace serves `jvp` of `jit`, the same again, and `vmap` of `jit` |
| A-36 | derivatives of device arrays |
| A-43, A-44 | `linearize` of `jit`, and of `jit` inside `jit` |
| A-52 | `grad` of `jit` inside `jit` |
| A-60 | every order of `jit`, `jvp` and `grad` gives the same numbers |
| A-76 | `linearize` of `cond` under `jit` |
| J-9 | the text of a jitted function inside another |
| J-10 | the text of a mapped function with a sum over devices, and its values |
| P-02 | the function of the P examples in NumPy's names, called and differentiated |
| P-14, P-17, P-20 | `jit` of `jvp`, `grad` and `vmap` of a new primitive |

J-10 has one equation that the document has not, which repeats `f32[1]` to `f32[3]`: operands of our operations on
elements have equal shapes or rank 0.  It has no conversion from a weak type.

The other files are `packages/*/tests/test_examples.py`.
"""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import calque
import calque_autodiff as ad
import calque_batching as batching
import calque_xla_backend as xla_backend
from calque import config, grad, jacfwd, jit, jvp, lax, linearize, make_jaxpr, numpy, pmap, vmap
from calque_core import Primitive, ShapedArray, Zero, check_jaxpr, is_tracer, is_undefined_primal
from calque_core.compat import zeros_like_array
from calque_core.lax import cond, cos, full, sin
from calque_xla_backend import Array, hlo


def f(x):
    y = sin(x) * 2.0
    z = -y + x
    return z


def deriv(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


# Examples A.


def test_A_18_the_jacobian_of_an_elementwise_function():
    expected = [[1.0, 0.0, -0.0], [0.0, 0.54030231, -0.0], [0.0, 0.0, -0.41614684]]
    np.testing.assert_allclose(jacfwd(sin)(np.arange(3.0)), expected, atol=1e-8)


def test_A_32_jit_of_a_second_derivative():
    assert str(deriv(deriv(f))(3.0)) == "0.2822400161197344"
    assert str(jit(deriv(deriv(f)))(3.0)) == "0.2822400161197344"


@pytest.fixture
def announced():
    """Return `f` under `jit`, which says when it is traced."""

    @jit
    def f(x):
        print("tracing!")
        y = sin(x) * 2.0
        z = -y + x
        return z

    return f


def test_A_33_A_34_A_35_one_trace_in_all(announced, capsys):
    # Section 0.3: a Python scalar is a type of its own, so that the argument is a NumPy scalar here.
    x = np.float64(3.0)
    y, y_dot = jvp(announced, (x,), (1.0,))
    assert capsys.readouterr().out == "tracing!\n"
    assert (str(y), str(y_dot)) == ("2.7177599838802657", "2.979984993200891")
    jvp(announced, (x,), (1.0,))
    vmap(announced, (0,))(np.arange(3.0))
    announced(x)
    assert capsys.readouterr().out == ""


def test_A_33_jvp_of_jit_traces_once(announced, capsys):
    y, y_dot = jvp(announced, (3.0,), (1.0,))
    assert (str(y), str(y_dot)) == ("2.7177599838802657", "2.979984993200891")
    assert capsys.readouterr().out == "tracing!\n"


def test_A_34_the_same_again_traces_nothing(announced, capsys):
    for _ in range(3):
        jvp(announced, (3.0,), (1.0,))
    assert capsys.readouterr().out == "tracing!\n"


def test_A_34_the_same_again_derives_and_lowers_nothing():
    g = MultiplyAdd("abstract_eval", "jvp", "lowering")
    jitted = jit(g.square_add)
    assert [str(x) for x in jvp(jitted, (2.0, 10.0), (1.0, 1.0))] == ["14.0", "5.0"]
    before = list(g.log)
    assert [str(x) for x in jvp(jitted, (3.0, 20.0), (1.0, 1.0))] == ["29.0", "7.0"]
    assert g.log == before
    assert [kind for kind, *_ in before].count("jvp") == 1


def test_A_35_vmap_of_jit(announced, capsys):
    assert str(vmap(announced, (0,))(np.arange(3.0))) == "[ 0.         -0.68294197  0.18140515]"
    assert capsys.readouterr().out == "tracing!\n"
    vmap(announced, (0,))(np.arange(3.0))
    announced(np.float64(3.0))
    assert capsys.readouterr().out == ""


def test_A_36_derivatives_of_device_arrays(announced, capsys):
    x = jit(lambda: full((), 3.0))()
    y, y_dot = jvp(announced, (x,), (full((), 1.0),))
    assert {type(x), type(y), type(y_dot)} == {Array}
    assert (str(y), str(y_dot)) == ("2.7177599838802657", "2.979984993200891")
    assert (str(f(x)), str(grad(f)(x))) == ("2.7177599838802657", "2.979984993200891")
    assert {type(f(x)), type(grad(f)(x))} == {Array}
    assert str(vmap(f)(jit(lambda: np.arange(3.0))())) == "[ 0.         -0.68294197  0.18140515]"
    assert capsys.readouterr().out == "tracing!\n"


def test_A_43_linearize_of_jit(announced, capsys):
    y, f_lin = linearize(announced, 3.0)
    assert f"{y} {f_lin(1.0)}" == "2.7177599838802657 2.979984993200891"
    assert f"{f_lin(2.0)}" == "5.959969986401782"
    assert capsys.readouterr().out == "tracing!\n"


def test_A_44_linearize_of_jit_inside_jit():
    @jit
    def f(x):
        y = sin(x) * 2.0
        z = g(x, y)
        return z

    @jit
    def g(x, y):
        return cos(x) + y

    y, f_lin = linearize(f, 3.0)
    assert f"{y} {f_lin(1.0)}" == "-0.7077524804807109 -2.121105001260758"


@jit
def nested(x):
    y = x * 2.0
    return doubled_cos(y)


@jit
def doubled_cos(x):
    return cos(x) * 2.0


def test_A_52_grad_of_jit_inside_jit():
    assert str(grad(nested)(3.0)) == "1.1176619927957034"


def foo(x):
    @jit
    def bar(y):
        def baz(w):
            q = jit(lambda x: y)(x)
            q = q + jit(lambda: y)()
            q = q + jit(lambda y: w + y)(y)
            q = jit(lambda w: jit(sin)(x) * y)(1.0) + q
            return q

        p, t = jvp(baz, (x + 1.0,), (y,))
        return t + (x * p)

    return bar(x)


STRESS = {
    "f": (nested, (1.920340573300732, 1.1176619927957034, -7.681362293202928)),
    "foo": (foo, (43.2700800725388, 17.936787578955194, -4.867750015624416)),
}


@pytest.mark.parametrize(("f", "expected"), STRESS.values(), ids=STRESS)
def test_A_60_every_order_gives_the_same_numbers(f, expected):
    value, gradient, second = expected
    values = f(3.0), jit(f)(3.0), jvp(f, (3.0,), (5.0,))[0], jvp(jit(f), (3.0,), (5.0,))[0]
    gradients = (
        grad(f)(3.0),
        grad(jit(f))(3.0),
        jit(grad(jit(f)))(3.0),
        jvp(f, (3.0,), (1.0,))[1],
        jvp(jit(f), (3.0,), (1.0,))[1],
    )
    seconds = (
        grad(grad(f))(3.0),
        grad(grad(jit(f)))(3.0),
        grad(jit(grad(f)))(3.0),
        jit(grad(grad(f)))(3.0),
        jvp(grad(f), (3.0,), (1.0,))[1],
        jvp(jit(grad(f)), (3.0,), (1.0,))[1],
    )
    for found, one in ((values, value), (gradients, gradient), (seconds, second)):
        assert {x.dtype for x in found} == {np.dtype("float64")}
        np.testing.assert_allclose(found, one, rtol=1e-13)


def test_A_76_linearize_of_cond_under_jit():
    _, f_lin = linearize(jit(lambda x: cond(True, lambda: x, lambda: 0.0)), 1.0)
    assert str(f_lin(3.14)) == "3.14"
    jitted = jit(lambda t: linearize(lambda x: cond(True, lambda: x, lambda: 0.0), 1.0)[1](t))
    assert str(jitted(3.14)) == "3.14"


# Examples J.

J9 = """\
{ lambda ; a:f32[]. let
    b:f32[] = sub a 2.0
    c:f32[1] = jit[
      name=inner
      jaxpr={ lambda ; d:f32[] e:f32[]. let
          f:f32[1] = broadcast_in_dim[broadcast_dimensions=() shape=(1,)] 1.0
          g:f32[1] = mul d f
          h:f32[1] = add e g
        in (h,) }
    ] a b
    i:f32[1] = add a c
  in (i,) }"""


def func12(arg):
    @calque.jit
    def inner(x):
        return x + arg * calque.numpy.ones(1)  # include a constant in the inner function

    return arg + inner(arg - 2.0)


def test_J_9_a_jitted_function_inside_another():
    with config.enable_x64(False):
        jaxpr = make_jaxpr(func12)(5.0)
    assert str(jaxpr) == J9
    check_jaxpr(jaxpr)
    assert np.asarray(func12(5.0)).tolist() == [13.0]


def test_J_9_an_array_stays_inside_as_a_constant():
    def func12(arg):
        @calque.jit
        def inner(x):
            return x + arg * np.ones(1)

        return arg + inner(arg - 2.0)

    jaxpr = make_jaxpr(func12)(5.0)
    [call] = [eqn for eqn in jaxpr.eqns if eqn.primitive is lax.jit_p]
    assert len(call.invars) == 2
    assert jaxpr.consts == ()
    assert [c.tolist() for c in call.params["jaxpr"].consts] == [[1.0]]


J10 = """\
{ lambda ; a:f32[1,3] b:f32[]. let
    c:f32[1,3] = xla_pmap[
      name=inner
      axis_name=rows
      axis_size=1
      call_jaxpr={ lambda ; d:f32[] e:f32[3]. let
          f:f32[3] = add e d
          g:f32[1] = broadcast_in_dim[broadcast_dimensions=() shape=(1,)] 1.0
          h:f32[3] = broadcast_in_dim[broadcast_dimensions=(0,) shape=(3,)] g
          i:f32[3] = add f h
          j:f32[3] = psum[axes=('rows',)] e
          k:f32[3] = div i j
        in (k,) }
      in_axes=(None, 0)
      out_axes=(0,)
    ] b a
  in (c,) }"""


def test_J_10_a_function_mapped_over_devices_with_a_sum_over_them():
    def mapped(arr, extra):
        def inner(x):
            return (x + extra + numpy.ones(1)) / lax.psum(x, axis_name="rows")

        return pmap(inner, axis_name="rows")(arr)

    rows = np.ones((1, 3), np.float32)
    with config.enable_x64(False):
        assert str(make_jaxpr(mapped)(rows, 5.0)) == J10
        for compiled in (mapped, jit(mapped)):
            np.testing.assert_array_equal(compiled(rows, 5.0), np.full((1, 3), 7.0, np.float32))


# Examples P, in both regimes.


@pytest.fixture(params=["64 bits", "32 bits"])
def dtype(request):
    """The dtype of Python floats in the regime of the test."""
    if request.param == "64 bits":
        yield np.dtype("float64")
    else:
        with config.enable_x64(False):
            yield np.dtype("float32")


@pytest.mark.parametrize("front", [np, calque.numpy], ids=["numpy", "calque.numpy"])
def test_P_02_numpys_names_called_and_differentiated(front, dtype):
    seen = []

    def multiply_add_numpy(x, y, z):
        seen.append((x, y, z))
        return front.add(front.multiply(x, y), z)

    def square_add_numpy(a, b):
        return multiply_add_numpy(a, a, b)

    assert square_add_numpy(2.0, 10.0) == 14.0
    gradient = grad(square_add_numpy)(2.0, 10.0)
    assert (gradient, gradient.dtype) == (4.0, dtype)
    normal, under_grad = seen
    assert normal == (2.0, 2.0, 10.0)
    assert [is_tracer(x) for x in under_grad] == [True, True, False]
    assert repr(under_grad[0]) == f"JVPTracer(primal=2.0, typeof(tangent)=float{8 * dtype.itemsize}[])"
    assert repr(under_grad[2]) == "10.0"


class MultiplyAdd:
    """The primitive `x * y + z` with the rules asked for; `log` has an entry for each call of a rule."""

    def __init__(self, *kinds):
        self.log = []
        self.primitive = Primitive("multiply_add")
        self.primitive.def_impl(self.noted("impl", lambda x, y, z: np.add(np.multiply(x, y), z)))
        for kind in kinds:
            getattr(self, f"give_{kind}")()

    def bind(self, x, y, z):
        return self.primitive.bind(x, y, z)

    def square_add(self, a, b):
        return self.bind(a, a, b)

    def calls(self, kind):
        return [args for name, *args in self.log if name == kind]

    def noted(self, kind, rule):
        def noting(*args):
            self.log.append((kind, *args))
            return rule(*args)

        return noting

    def give_abstract_eval(self):
        self.primitive.def_abstract_eval(self.noted("abstract_eval", lambda x, y, z: ShapedArray(x.shape, x.dtype)))

    def give_lowering(self):
        rule = self.noted("lowering", lambda ctx, x, y, z: [hlo.AddOp(hlo.MulOp(x, y), z).result])
        xla_backend.register_lowering(self.primitive, rule, platform="cpu")

    def give_jvp(self):
        ad.primitive_jvps[self.primitive] = self.noted("jvp", self.value_and_jvp)

    def give_transpose(self):
        ad.primitive_transposes[self.primitive] = self.noted("transpose", self.transpose)

    def give_batch(self):
        batching.primitive_batchers[self.primitive] = self.noted("batch", self.batch)

    def value_and_jvp(self, primals, tangents):
        x, y, z = primals
        x_dot, y_dot, z_dot = [zeros_like_array(p) if type(t) is Zero else t for p, t in zip(primals, tangents)]
        return self.bind(x, y, z), self.bind(x_dot, y, self.bind(x, y_dot, z_dot))

    def transpose(self, ct, x, y, z):
        if is_undefined_primal(x):
            return self.bind(ct, y, zeros_like_array(y)), None, ct
        return None, self.bind(x, ct, zeros_like_array(x)), ct

    def batch(self, vector_args, batch_axes):
        return self.bind(*vector_args), batch_axes[0]


def test_P_14_jit_of_jvp(dtype):
    g = MultiplyAdd("abstract_eval", "jvp", "lowering")
    out = jit(lambda primals, tangents: jvp(g.square_add, primals, tangents))((2.0, 10.0), (1.0, 1.0))
    assert ([str(x) for x in out], {x.dtype for x in out}) == (["14.0", "5.0"], {dtype})
    [(primals, tangents)] = g.calls("jvp")
    assert all(is_tracer(x) for x in (*primals, *tangents))
    assert len(g.calls("abstract_eval")) == 3
    assert len(g.calls("lowering")) <= 3
    assert g.calls("impl") == []


def test_P_17_jit_of_grad(dtype):
    g = MultiplyAdd("abstract_eval", "jvp", "transpose", "lowering")
    gradient = jit(grad(g.square_add))(2.0, 10.0)
    assert (str(gradient), gradient.dtype) == ("4.0", dtype)
    [(primals, tangents)] = g.calls("jvp")
    assert all(is_tracer(x) for x in primals)
    assert repr(tangents[2]) == f"Zero({dtype}[])"
    first, second = g.calls("transpose")
    assert [is_undefined_primal(x) for x in first] == [False, True, False, True]
    assert [is_undefined_primal(x) for x in second] == [False, False, True, False]
    assert is_tracer(first[2])
    assert is_tracer(second[1])
    assert len(g.calls("lowering")) == 2
    assert g.calls("impl") == []


def test_P_20_jit_of_vmap(dtype):
    g = MultiplyAdd("abstract_eval", "batch", "lowering")
    out = jit(vmap(g.square_add))(np.array([2.0, 3.0]), np.array([10.0, 20.0]))
    assert (np.asarray(out).tolist(), out.dtype) == ([14.0, 29.0], dtype)
    [(vector_args, batch_axes)] = g.calls("batch")
    assert [repr(x) for x in vector_args] == [f"JitTracer({dtype}[2])"] * 3
    assert tuple(batch_axes) == (0, 0, 0)
    assert len(g.calls("lowering")) == 1
    assert g.calls("impl") == []


# All of them.

REQUIRED = {
    *(f"A-{n:02}" for n in (*range(1, 14), 18, *range(20, 28), *range(30, 37), *range(40, 46), *range(50, 55), 60)),
    *(f"A-{n}" for n in range(70, 79)),
    *("J-1", "J-2", "J-3", "J-9", "J-10"),
    *(f"P-{n:02}" for n in range(1, 23)),
}
ROOT = Path(__file__).parents[2]
FILES = [*sorted(ROOT.glob("packages/*/tests/test_examples.py")), Path(__file__)]


def ids_in(text):
    """Return the ids in a table's first column, or in the name of a test."""
    return {f"{letter}-{number}" for letter, number in re.findall(r"\b([AJP])-(\d+)", text.replace("_", "-"))}


def parts(path):
    """Return the docstring of a test file, and the names of its tests."""
    tree = ast.parse(path.read_text())
    tests = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    return ast.get_docstring(tree), tests


def test_every_example_has_a_test_under_its_id():
    assert len(FILES) == 5
    found = set().union(*(ids_in(name.removeprefix("test")) for path in FILES for name in parts(path)[1]))
    assert found == REQUIRED
    assert (sum(i.startswith("A") for i in found), sum(i.startswith("P") for i in found)) == (50, 22)


@pytest.mark.parametrize("path", FILES, ids=[path.parts[-3] for path in FILES])
def test_the_table_of_a_file_lists_the_ids_of_its_tests(path):
    docstring, tests = parts(path)
    rows = [line.split("|")[1] for line in docstring.splitlines() if line.startswith("| ")]
    assert set().union(*map(ids_in, rows)) == set().union(*(ids_in(name.removeprefix("test")) for name in tests))
