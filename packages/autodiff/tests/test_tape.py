"""Linear programs as they were recorded."""

from calque_autodiff import deflinear, grad, vjp
from calque_core import Primitive, make_jaxpr


def watched_chain(left):
    """Return three linear steps; the transpose of each appends to `left` how many equations its program still has."""
    step_p = Primitive("watched_step")
    tapes = []
    step_p.def_impl(lambda x: 2.0 * x)
    step_p.def_abstract_eval(lambda x_aval: x_aval)

    def transpose(ct, x):
        left.append(len(tapes[-1]))
        return [2.0 * ct]

    deflinear(step_p, transpose)

    def chain(x):
        tapes.append(x._trace.tangent_trace.eqns)
        return step_p.bind(step_p.bind(step_p.bind(x)))

    return chain


def test_a_gradient_drops_each_equation_that_it_has_read():
    left = []
    assert grad(watched_chain(left))(1.0) == 8.0
    assert left == [2, 1, 0]


def test_a_traced_gradient_drops_each_equation_that_it_has_read():
    left = []
    make_jaxpr(grad(watched_chain(left)))(1.0)
    assert left == [2, 1, 0]


def test_a_vjp_function_keeps_its_equations_for_the_next_cotangent():
    left = []
    _, pull = vjp(watched_chain(left), 1.0)
    assert pull(1.0) == pull(1.0) == (8.0,)
    assert left == [3] * 6
