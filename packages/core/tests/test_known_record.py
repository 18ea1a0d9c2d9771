"""The code made of a program records equations like those of the program, and gives its results."""

import numpy as np

from calque_core import Literal, Primitive, current_trace, lax, make_jaxpr
from calque_core.engine import recorder

X = np.arange(3.0)


def recorded(program, *args, **options):
    """Return the program that the code made of `program` records on tracers."""
    record = recorder(program, **options)
    return make_jaxpr(lambda *xs: record(current_trace(), None, *xs))(*args)


def test_the_equations_are_those_of_the_program():
    program = make_jaxpr(lambda x, y: (lax.mul(lax.sin(x), y), lax.reduce_sum(lax.add(x, 2.0), (0,))))(X, 3.0)
    assert str(recorded(program, X, 3.0)) == str(program)


def test_an_equation_with_two_results_has_both():
    two_p = Primitive("two", multiple_results=True)
    two_p.def_abstract_eval(lambda x: [x, x])
    program = make_jaxpr(lambda x: two_p.bind(x)[::-1])(X)
    assert str(recorded(program, X)) == str(program)


def test_a_result_that_is_an_operand_is_its_tracer_and_a_literal_its_value():
    program = make_jaxpr(lambda x, y: (y, lax.sin(x), 2.0, y))(X, X)
    record = recorder(program)

    def f(x, y):
        first, second, third, fourth = record(current_trace(), None, x, y)
        assert first is y
        assert fourth is y
        assert third == 2.0
        return second

    assert str(make_jaxpr(f)(X, X).eqns[0].primitive) == "sin"


def test_the_first_operands_may_be_atoms():
    program = make_jaxpr(lambda x, y, z: lax.mul(lax.mul(x, y), z))(X, X, X)
    record = recorder(program, 2)

    def f(x, z):
        return record(current_trace(), None, Literal(np.float64(5.0)), x.variable, z)

    first, second = make_jaxpr(f)(X, X).eqns
    assert [x.val for x in first.invars if type(x) is Literal] == [5.0]
    assert second.invars[0] is first.outvars[0]


def test_the_equations_of_a_call_have_its_position_and_share_their_parameters():
    program = make_jaxpr(lambda x: lax.reduce_sum(lax.sin(x), (0,)))(X)
    record, position = recorder(program), ("a position",)
    eqns = make_jaxpr(lambda x: record(current_trace(), position, x))(X).eqns
    assert [eqn.position for eqn in eqns] == [position] * 2
    assert eqns[1].params is program.eqns[1].params
