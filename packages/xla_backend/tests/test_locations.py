"""Operations of a compiled program carry the names of scopes and functions, and the user's line."""

import re

from jaxlib.mlir import ir

from calque_core import lax, make_jaxpr, named_scope
from calque_xla_backend import jit, lower_jaxpr_to_module
from calque_xla_backend.modules.locations import Locations
from calque_xla_backend.runtime.runtime import mlir_context


def locations(jitted, *args):
    """Return the module with locations, as text."""
    return jitted.lower(*args).compiler_ir().operation.get_asm(enable_debug_info=True)


def names(jitted, *args):
    """Return the names of the operations of the compiled program."""
    return set(re.findall(r'op_name="([^"]*)"', jitted.lower(*args).compile().as_text("optimized_hlo")))


def line_of(fun):
    return fun.__code__.co_firstlineno


@jit
def wave(x):
    with named_scope("half"):
        return lax.sin(x)


def test_a_name_begins_at_the_compiled_function():
    assert names(wave, 1.0) == {"jit(wave)/half/sin"}


def test_an_operation_has_the_users_function_file_and_line():
    text = locations(wave, 1.0)
    (place,) = re.findall(r'loc\("jit\(wave\)/half/sin"\((#loc\d*)\)\)', text)
    (function,) = re.findall(rf'{place} = loc\("wave"\((#loc\d*)\)\)', text)
    assert f'{function} = loc("{__file__}":{line_of(wave.__wrapped__) + 3}:0)' in text


def test_a_function_of_the_module_has_a_name_for_each_call():
    @jit
    def twice(x):
        with named_scope("first"):
            y = wave(x)
        return lax.exp(wave(y))

    assert {"jit(twice)/first/jit(wave)/half/sin", "jit(twice)/jit(wave)/half/sin", "jit(twice)/exp"} <= names(
        twice, 1.0
    )


def test_a_name_in_a_loop_or_branch_begins_with_the_name_of_its_equation():
    @jit
    def loop(x):
        with named_scope("steps"):
            x = lax.fori_loop(0, x.astype(int), lambda i, c: lax.tanh(c), x)
        return lax.cond(x > 0, wave, lax.neg, x)

    found = set(re.findall(r'loc\("(jit\(loop\)[^"]*)"', locations(loop, 3.0)))
    assert {"jit(loop)/steps/while/tanh", "jit(loop)/cond/neg", "jit(loop)/cond/jit(wave)"} <= found


def test_the_operations_of_a_rule_that_traces_have_the_place_of_its_equation():
    @jit
    def fun(x):
        with named_scope("a"):
            return lax.logistic(lax.erf_inv(x))

    found = set(re.findall(r'loc\("(jit\(fun\)[^"]*)"', locations(fun, 0.5)))
    equations = {f"jit(fun)/a/{eqn.primitive.name}" for eqn in make_jaxpr(fun.__wrapped__)(0.5).eqns}
    assert found == equations


def test_equal_places_share_a_location():
    def chain(x):
        for _ in range(50):
            x = lax.cos(lax.sin(x))
        return x

    eqns = make_jaxpr(chain)(1.0).eqns
    with mlir_context(), ir.Location.unknown():
        made = list(Locations("f/").of(eqns))
        assert len({id(location) for location in made}) == 2
        assert [str(made[0]).split('"')[1], str(made[1]).split('"')[1]] == ["f/sin", "f/cos"]


def test_scopes_and_lines_do_not_change_the_program():
    def plain(x):
        return lax.sin(x) * 2.0

    def scoped(x):
        with named_scope("a"):
            y = lax.sin(x)
        return y * 2.0

    texts = [str(lower_jaxpr_to_module(make_jaxpr(fun)(1.0), name="f").module) for fun in (plain, scoped)]
    assert texts[0] == texts[1]


def test_an_equation_without_a_position_has_the_location_around_it():
    jaxpr = make_jaxpr(lax.sin)(1.0)
    jaxpr = jaxpr.replace(eqns=[eqn.replace(position=None) for eqn in jaxpr.eqns])
    text = lower_jaxpr_to_module(jaxpr, name="f").module.operation.get_asm(enable_debug_info=True)
    assert "stablehlo.sine %arg0 : tensor<f64> loc(#loc)" in text
    assert "#loc = loc(unknown)" in text
