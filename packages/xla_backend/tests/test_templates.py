"""Templates: the rule runs once for equal equations, and their operations are those that it would emit each time."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from jaxlib.mlir import ir

from calque_core import Primitive, ShapedArray, lax, make_jaxpr
from calque_core.config import enable_x64
from calque_xla_backend import aval_to_ir_type, hlo, ir_constant, jit, lower_jaxpr_to_module, register_lowering
from calque_xla_backend.exact_keys import exact_key

VECTOR = np.array([0.5, 1.0, 2.0])


def counted(name, emit, **options):
    """Return a primitive of one or more operands of the type of its result, and the list of calls of its rule."""
    primitive, calls = Primitive(name, **options), []
    primitive.def_abstract_eval(lambda *avals, **_: avals[0])

    @register_lowering(primitive)
    def lowering(ctx, *values, **params):
        calls.append(params)
        return [emit(*values, **params)]

    return primitive, calls


def test_the_rule_runs_once_for_equal_equations():
    twice_p, calls = counted("twice", lambda x: hlo.add(x, x))

    def program(x, y):
        for _ in range(20):
            x, y = twice_p.bind(x), twice_p.bind(y)
        return x, y

    assert not make_jaxpr(program)(VECTOR, VECTOR).effects  # a look-up without a result, which must not matter
    x, y = jit(program)(VECTOR, np.ones((2, 2), np.float32))
    assert len(calls) == 2  # for two types
    np.testing.assert_array_equal(x, VECTOR * 2.0**20)
    np.testing.assert_array_equal(y, np.full((2, 2), 2.0**20, np.float32))


def lowered(fun, *args):
    return lower_jaxpr_to_module(make_jaxpr(fun)(*args)).module


def in_a_context_of_its_own(work):
    """Run `work` with an MLIR context without templates: that of a new thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def test_a_rule_runs_once_for_equal_equations_of_several_programs():
    twice_p, calls = counted("twice", lambda x: hlo.add(x, x))

    def work():
        texts = [str(lowered(lambda x, n: twice_p.bind(x) + n, VECTOR, n)) for n in (1, 2.0, VECTOR)]
        assert len(calls) == 1
        lowered(twice_p.bind, VECTOR[:2])
        assert len(calls) == 2
        register_lowering(twice_p, lambda ctx, x: [hlo.multiply(x, x)])
        return [*texts, str(lowered(twice_p.bind, VECTOR))]

    *before, after = in_a_context_of_its_own(work)
    assert len(set(before)) == 3
    assert all("stablehlo.add" in text and "stablehlo.multiply" not in text for text in before)
    assert "stablehlo.multiply" in after
    assert "stablehlo.add" not in after


def test_regions_outlive_the_program_that_recorded_them():
    def work():
        texts = []
        for _ in range(3):
            texts.append(str(lowered(lambda x: lax.reduce_sum(x * 3.0, (0,)), VECTOR)))
            gc.collect()
        return texts

    texts = in_a_context_of_its_own(work)
    assert texts[0] == texts[1] == texts[2]
    assert texts[0].count("stablehlo.reduce(") == 1


def test_a_rule_runs_again_under_other_settings():
    constant_p, calls = counted(
        "constant", lambda x: hlo.add(x, hlo.broadcast_in_dim(x.type, ir_constant(1, "i4"), []))
    )

    def work():
        for is_on in (True, False, True):
            with enable_x64(is_on):
                lowered(constant_p.bind, VECTOR.astype(np.int32))

    in_a_context_of_its_own(work)
    assert len(calls) == 2


def test_a_rule_that_asks_for_its_module_runs_for_each_module():
    named_p, _ = counted("named", hlo.negate)
    modules = []

    @register_lowering(named_p)
    def rule(ctx, x):
        modules.append(ctx.module_context.module)
        return [hlo.negate(x)]

    def work():
        return [lowered(lambda x: named_p.bind(named_p.bind(x)), VECTOR) for _ in range(2)]

    assert in_a_context_of_its_own(work) == modules


def test_parameters_and_literals_that_can_be_told_apart_have_templates_of_their_own():
    plus_p, calls = counted("plus", lambda x, *, by: hlo.add(x, ir_constant(np.full(3, float(by)))))
    values = (1, True, 1.0, 2, (1,))[:4]
    outs = jit(lambda x: [plus_p.bind(x, by=by) for by in (*values, *values)])(VECTOR)
    assert [call["by"] for call in calls if type(call["by"]) is not float] == [1, True, 2]
    assert [call["by"] for call in calls].count(1.0) == 4  # 1, True, and twice 1.0: a float has no exact key
    for out, by in zip(outs, (*values, *values), strict=True):
        np.testing.assert_array_equal(out, VECTOR + float(by))
    seen, literal_calls = [], []

    def noted(x, y):
        literal_calls.append(y)
        seen.append(str(y.owner))
        return hlo.add(x, hlo.broadcast_in_dim(x.type, y, []))

    noted_p, _ = counted("noted", noted)
    jit(lambda x: [noted_p.bind(x, y) for y in (0.0, -0.0, 2.0, 2.0)])(VECTOR)
    assert len(seen) == 3
    assert all("stablehlo.constant" in text for text in seen)


@pytest.mark.parametrize("value", [0.0, 1.0, (1, 0.5), np.int64(1), lambda: None, [1]])
def test_values_that_look_equal_and_differ_have_no_exact_key(value):
    with pytest.raises(TypeError):
        exact_key((value,))


def test_exact_keys_tell_nested_types_apart():
    keys = [exact_key(x) for x in ((1,), (True,), ((1,),), ((True,),), (((), 1),), (((), True),), ("1",), (None,))]
    assert len(set(keys)) == len(keys)
    assert exact_key((1, ((2, None), "a"))) == exact_key((1, ((2, None), "a")))
    assert exact_key((np.dtype("float32"),)) != exact_key((np.dtype("float64"),))


def test_an_effect_runs_its_rule_each_time():
    noisy_p, calls = counted("noisy", lambda x: hlo.negate(x), effects=frozenset({"noise"}))
    jaxpr = make_jaxpr(lambda x: noisy_p.bind(noisy_p.bind(x)))(VECTOR)
    lower_jaxpr_to_module(jaxpr)
    assert len(calls) == 2


def test_operations_with_regions_are_copied_with_them():
    def program(x):
        for _ in range(3):
            x = lax.sort(x - lax.reduce_max(x, (0,)) + lax.reduce_sum(x, (0,)))
        return x

    expected = VECTOR
    for _ in range(3):
        expected = np.sort(expected - expected.max() + expected.sum())
    np.testing.assert_allclose(jit(program)(VECTOR), expected, rtol=1e-15)
    module = lower_jaxpr_to_module(make_jaxpr(program)(VECTOR)).module
    assert str(module).count("stablehlo.reduce(") == 6
    assert module.operation.verify()


def test_a_rule_whose_regions_capture_its_operands_runs_each_time():
    def chosen(x, y):
        is_less = hlo.compare(first(x), first(y), hlo.ComparisonDirectionAttr.get("LT"))
        branch = hlo.IfOp([x.type], is_less)
        for region, value in zip(branch.regions, (x, y), strict=True):
            with ir.InsertionPoint(region.blocks.append()):
                hlo.return_([value])
        return branch.results[0]

    def first(x):
        return hlo.reshape(aval_to_ir_type(ShapedArray((), np.float64)), hlo.slice(x, [0], [1], [1]))

    chosen_p, calls = counted("chosen", chosen)

    def program(x, y):
        return chosen_p.bind(x, y), chosen_p.bind(y, x), chosen_p.bind(x + 1.0, y)

    a, b, c = jit(program)(VECTOR, VECTOR + 0.5)
    np.testing.assert_array_equal(a, VECTOR)
    np.testing.assert_array_equal(b, VECTOR)
    np.testing.assert_array_equal(c, VECTOR + 0.5)
    assert len(calls) >= 3


def test_constants_of_complex_numbers_and_short_floats_are_copied():
    def program(z, h):
        for _ in range(3):
            z, h = lax.pow(z, z), lax.logistic(h) * h
        return z, h

    z, h = np.array([0.5 + 0.25j, 1.0 - 0.5j]), np.array([0.5, 1.0], np.float16)
    expected = program(z, h)
    for out, wanted in zip(jit(program)(z, h), expected, strict=True):
        np.testing.assert_allclose(out, wanted, rtol=1e-2 if wanted.dtype == np.float16 else 1e-12)


def test_equal_constants_of_copies_are_one_operation():
    jaxpr = make_jaxpr(lambda x: lax.reduce_sum(x, (0,)) + lax.reduce_sum(x * x, (0,)))(VECTOR)
    text = str(lower_jaxpr_to_module(jaxpr).module)
    assert text.count("stablehlo.reduce(") == 2
    assert text.count("stablehlo.constant") == 1


def test_constants_and_their_broadcasts_are_one_operation_for_all_equations_of_a_block():
    text = str(
        lowered(lambda x, y: [x * 2.0 + 2.0, y * 2.0, lax.iota(np.int64, 3) + lax.iota(np.int64, 3)], VECTOR, VECTOR)
    )
    assert text.count("stablehlo.constant") == 1
    assert text.count("stablehlo.broadcast_in_dim") == 1
    assert text.count("stablehlo.iota") == 1
    z = VECTOR + 0j
    assert str(lowered(lambda z: [z * (1 + 2j), z + (1 + 2j)], z)).count("stablehlo.constant") == 1
    signs = str(lowered(lambda x: [x * 0.0, x * -0.0], VECTOR))
    assert signs.count("stablehlo.constant") == 2


def test_a_block_shares_no_constants_with_the_branches_and_loops_inside():
    def program(x):
        x = lax.cond(x[0] > 0.0, lambda x: x * 2.0 + 3.0, lambda x: x * 3.0 + 2.0, x)
        return lax.fori_loop(0, 3, lambda i, x: x * 2.0 + 3.0, x) * 2.0 + 3.0

    assert lowered(program, VECTOR).operation.verify()
    np.testing.assert_array_equal(jit(program)(VECTOR), program(VECTOR))


def test_a_literal_is_a_result_of_a_rule_and_of_a_program():
    second_p, _ = counted("second", lambda x, y: y)
    a, b, c = jit(lambda x: (second_p.bind(x, 2.5), second_p.bind(x, 3.5), 3.5))(0.5)
    assert (float(a), float(b), float(c)) == (2.5, 3.5, 3.5)


def test_each_copy_has_the_place_of_its_own_equation():
    def program(x):
        y = lax.reduce_sum(x, (0,))  # the first line
        return y + lax.reduce_sum(x + y, (0,))  # the second line

    first = program.__code__.co_firstlineno + 1
    module = lower_jaxpr_to_module(make_jaxpr(program)(VECTOR)).module
    entry = module.body.operations[0].regions[0].blocks[0]
    places = [str(op.operation.location) for op in entry.operations if op.operation.name == "stablehlo.reduce"]
    assert [f":{line}:" in place for line, place in zip((first, first + 1), places, strict=True)] == [True, True]
