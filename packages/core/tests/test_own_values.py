"""Values of types of one's own: in programs, loops and branches, and as arrays alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from calque_core import (
    AbstractMesh,
    MissingRuleError,
    OwnType,
    PartitionSpec,
    Primitive,
    ShapedArray,
    ShapeDtypeStruct,
    UnexpectedTracerError,
    add_tangents,
    captured_constants,
    check,
    check_jaxpr,
    config,
    dce_jaxpr,
    debug,
    eval_jaxpr,
    eval_shape,
    float0,
    instantiate_zeros,
    io_callback,
    is_tracer,
    jaxpr_equal,
    jaxpr_to_dict,
    lax,
    make_jaxpr,
    matchaxis,
    moveaxis,
    register_aval,
    shard_map,
    to_python,
    typeof,
)
from calque_core.extend import zero_tangent
from calque_core.ops.calls.own_values import item_of, stacked
from calque_core.passes.lower_values import has_own_values, lower_values
from calque_core.primitives.own_values import lowered, raised
from calque_core.ref import new_ref
from calque_core.staging.jit_tracer import JitTracer
from calque_core.types.stand_in import stand_in_of
from calque_core.types.type_queries import (
    has_tangent,
    same_type,
    tangent_arrays,
    with_axis_at,
    with_leading_axis,
    without_axis_at,
    without_leading_axis,
)


@dataclass(frozen=True)
class Interval:
    """The numbers from `low` to `high`."""

    low: Any
    high: Any
    __array_ufunc__ = None

    def __add__(self, other):
        return Interval(self.low + other.low, self.high + other.high)

    def __mul__(self, factor):
        if isinstance(factor, Interval):
            return NotImplemented
        return Interval(self.low * factor, self.high * factor)

    __rmul__ = __mul__

    def __neg__(self):
        return Interval(-self.high, -self.low)

    def __getitem__(self, i):
        return Interval(self.low[i], self.high[i])

    @property
    def width(self):
        return self.high - self.low

    def sum(self):
        return Interval(np.sum(self.low), np.sum(self.high))


@dataclass(frozen=True)
class IntervalType(OwnType):
    """The type of intervals of float64."""

    shape: tuple

    @classmethod
    def of(cls, x):
        return cls(typeof(x.low).shape)

    def arrays(self):
        return dict.fromkeys(("low", "high"), ShapedArray(self.shape, np.float64))

    @property
    def rank(self):
        return len(self.shape)


register_aval(Interval, IntervalType)

wider_p = Primitive("wider")  # without a decomposition
wider_p.def_abstract_eval(lambda x, *, by: x)
wider_p.def_impl(lambda x, *, by: Interval(x.low - by, x.high + by))

hull_p = Primitive("hull")
hull_p.def_abstract_eval(lambda x, y: x)
hull_p.def_impl(lambda x, y: Interval(np.minimum(x.low, y.low), np.maximum(x.high, y.high)))


@hull_p.def_rule("decomposition")
def hull_decomposition(x, y):
    return Interval(np.minimum(x.low, y.low), np.maximum(x.high, y.high))


def interval(*shape):
    low = np.arange(float(np.prod(shape, dtype=int))).reshape(shape)
    return Interval(low, low + 2.0)


def same(x, y):
    return np.array_equal(x.low, y.low) and np.array_equal(x.high, y.high)


# Types


def test_there_is_one_object_for_each_type():
    assert typeof(interval(3)) is IntervalType((3,))
    assert typeof(interval(2)) is not typeof(interval(3))
    assert str(IntervalType((2, 3))) == repr(IntervalType((2, 3))) == "interval[2,3]"


def test_types_that_are_no_dataclasses_are_compared_by_their_attributes():
    class Unit(OwnType):
        def __init__(self, name):
            self.name = name

    assert Unit("m") is Unit("m")
    assert Unit("m") != Unit("s")


def test_a_type_without_a_hash_says_how_to_get_one():
    @dataclass
    class Mutable(OwnType):
        shape: tuple

    with pytest.raises(TypeError, match=r"a type Mutable has no hash: .*\. Decorate the class with @dataclass"):
        Mutable(())


def test_a_reference_holds_arrays_alone():
    with pytest.raises(TypeError, match=r"new_ref got Interval.* at .*test_own_values.* Give an array or a scalar"):
        new_ref(Interval(1.0, 2.0))


def test_a_class_has_one_type():
    with pytest.raises(ValueError, match=r"Interval already has an abstract value\. Register a class of your own"):
        register_aval(Interval, IntervalType)
    with pytest.raises(ValueError, match=r"IntervalType is the type of Interval\. Make a subclass of it"):
        register_aval(type("Other", (), {}), IntervalType)


def test_a_type_has_no_field_that_functions_on_arrays_read():
    @dataclass(frozen=True)
    class Sparse(OwnType):
        shape: tuple
        dtype: Any

    with pytest.raises(TypeError, match=r"Sparse has a field dtype or kind.*Give the field another name"):
        register_aval(type("Rows", (), {}), Sparse)


def test_a_type_says_what_it_does_not_define():
    class Bare(OwnType):
        pass

    with pytest.raises(NotImplementedError, match=r"Bare does not define of\. Define it"):
        Bare.of(1.0)
    with pytest.raises(NotImplementedError, match=r"Bare does not define arrays\. Define it: a dict from"):
        Bare().arrays()
    with pytest.raises(NotImplementedError, match=r"Bare does not define with_axis, which vmap and scan need"):
        Bare().with_axis(2)
    with pytest.raises(NotImplementedError, match=r"Bare does not define without_axis, which vmap and scan need"):
        Bare().without_axis()


@pytest.mark.parametrize("name", ["dtype", "kind", "size"])
def test_a_type_is_not_an_arrays(name):
    with pytest.raises(TypeError, match=rf"the {name} of a value of type interval\[3\].*no array\..* low, high\."):
        getattr(IntervalType((3,)), name)


def test_a_value_that_is_not_as_its_type_says_is_refused():
    with pytest.raises(
        TypeError, match=r"the array high of a value of type interval\[3\].* is float64\[2\].*says float"
    ):
        lowered(Interval(np.zeros(3), np.zeros(2)))
    with pytest.raises(TypeError, match=r"the array high of a value of type interval\[\].* is 'x'\. Give it"):
        lowered(Interval(1.0, "x"))
    with pytest.raises(TypeError, match=r"the arrays of float64\[\].*were asked for, but it is an array itself"):
        make_jaxpr(lax.lower_p.bind)(np.float64(1.0))


def test_one_more_axis_and_one_less():
    three = IntervalType((3,))

    assert with_leading_axis(three, 2) is IntervalType((2, 3))
    assert without_leading_axis(three) is IntervalType(())
    assert with_axis_at(three, 1, 5) is IntervalType((3, 5))
    assert without_axis_at(IntervalType((3, 5, 2)), 1) is IntervalType((3, 2))


def test_a_type_whose_arrays_do_not_all_get_the_axis_is_refused():
    @dataclass(frozen=True)
    class Table(OwnType):
        shape: tuple

        def arrays(self):
            return {"rows": ShapedArray(self.shape, float), "names": ShapedArray(self.shape[-1:], int)}

    register_aval(type("Rows", (), {}), Table)
    with pytest.raises(TypeError, match=r"rows\[3,4\]\.with_axis\(2\) is rows\[2,3,4\], whose array names has"):
        with_leading_axis(Table((3, 4)), 2)


def test_types_are_compared_as_a_whole():
    assert same_type(IntervalType((3,)), IntervalType((3,)))
    assert not same_type(IntervalType((3,)), ShapedArray((3,), np.float64))
    assert stand_in_of(IntervalType((3,))) is IntervalType((3,))


def test_tangents_are_values_of_the_type_where_all_arrays_are_floats():
    assert IntervalType((3,)).to_tangent_aval() is IntervalType((3,))
    assert has_tangent(IntervalType(()))
    assert list(tangent_arrays(IntervalType(()))) == ["low", "high"]


def test_a_type_with_integers_must_define_its_tangents():
    class Count(OwnType):
        def arrays(self):
            return {"n": ShapedArray((), np.int32)}

    class NoTangent(Count):
        def to_tangent_aval(self):
            return ShapedArray((), float0)

    class Dense(Count):
        def to_tangent_aval(self):
            return ShapedArray((2,), np.float32)

    for kind in (Count, NoTangent, Dense):
        register_aval(type("Counter", (), {}), kind)
    with pytest.raises(
        NotImplementedError, match=r"Count does not define to_tangent_aval, and n of counter\[\] is no f"
    ):
        Count().to_tangent_aval()
    assert not has_tangent(NoTangent())
    assert has_tangent(Dense())
    with pytest.raises(
        TypeError, match=r"the arrays of counter\[\] have no derivative of their own: its tangents are f"
    ):
        tangent_arrays(Dense())


# Values under a trace


def test_a_program_carries_a_value_as_one_variable():
    program = make_jaxpr(lambda x: x + 2.0 * x)(interval(3))

    assert program.in_avals == program.out_avals == [IntervalType((3,))]
    check_jaxpr(program)
    assert same(eval_jaxpr(program, program.consts, interval(3))[0], 3.0 * interval(3))


def test_a_tracer_has_arrays_type_and_class_of_its_value():
    seen = []

    def look(x):
        seen.extend([x.low, x.rank, x.shape, x.width, x.sum().low, isinstance(x, Interval), is_tracer(x), -x, x[0]])
        return x.high

    program = make_jaxpr(look)(interval(3))

    assert [typeof(x) for x in (seen[0], seen[3], seen[4])] == [
        ShapedArray((3,), float),
        ShapedArray((3,), float),
        ShapedArray((), float),
    ]
    assert seen[1:3] == [1, (3,)]
    assert seen[5:7] == [True, True]
    assert typeof(seen[7]) is IntervalType((3,))
    assert typeof(seen[8]) is IntervalType(())
    assert program.out_avals == [typeof(np.ones(3))]


@pytest.mark.parametrize(
    "use",
    [lambda x: 2.0 * x, lambda x: np.float64(2.0) * x, lambda x: np.ones(3) * x, lambda x: lax.add(1.0, 1.0) * x],
    ids=["float", "scalar", "array", "traced"],
)
def test_reflected_operators_are_those_of_the_class(use):
    program = make_jaxpr(use)(interval(3))

    assert program.out_avals == [IntervalType((3,))]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda x: x - 1.0, r"unsupported operand type\(s\) for -: 'IntervalJitTracer' and 'float'"),
        (lambda x: x * x, r"unsupported operand type\(s\) for \*"),
        (lambda x: abs(x), r"__abs__ of a traced value of type interval\[3\]: Interval does not define it"),
        (lambda x: len(x), r"__len__ of a traced value of type interval\[3\]: Interval does not define it"),
        (lambda x: np.sum(x), r"__array_function__ of a traced value of type interval\[3\]: Interval does not"),
        (lambda x: np.sin(x), r"does not support ufuncs"),
        (lambda x: lax.sin(x), r"the kind of a value of type interval\[3\] .*no array"),
        (lambda x: lax.add(x, 1.0), r"the dtype of a value of type interval\[3\] .*no array"),
        (lambda x: float(x), r"float\(\) was asked of a traced value of type interval\[3\]"),
        (lambda x: hash(x), r"unhashable type: 'IntervalJitTracer'"),
    ],
)
def test_what_the_class_does_not_define_is_refused(use, message):
    with pytest.raises(TypeError, match=message):
        make_jaxpr(use)(interval(3))


def test_a_method_of_the_class_s_class_is_none_of_a_value():
    refused = []

    def f(x):
        refused.append(not callable(x))
        with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \|"):
            x | 1
        return x

    make_jaxpr(f)(Interval(0.0, 1.0))
    assert refused == [True]


def test_an_array_is_the_same_each_time_so_that_a_change_in_place_is_seen():
    program = make_jaxpr(lambda x: (x.low + x.low, x.high))(interval(3))
    assert [eqn.primitive.name for eqn in program.eqns] == ["lower", "add"]

    def change(x):
        low = x.low
        low += 1.0
        return x.low

    with pytest.raises(UnexpectedTracerError, match=r"changed its array in place"):
        make_jaxpr(change)(interval(3))

    def inside(x):
        return lax.cond(True, lambda: x.low, lambda: x.high) + x.low

    check_jaxpr(make_jaxpr(inside)(interval(3)))


@pytest.mark.parametrize("name", ["dtype", "T", "mean", "middle", "_middle"])
def test_an_unknown_attribute_says_where_attributes_come_from(name):
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}': it is none of its arrays \(low, high\)"):
        make_jaxpr(lambda x: getattr(x, name))(interval(3))


def test_an_attribute_with_the_name_of_one_of_tracers_is_refused():
    @dataclass(frozen=True)
    class Particle:
        position: Any

    class ParticleType(OwnType):
        @classmethod
        def of(cls, x):
            return cls()

        def arrays(self):
            return {"position": ShapedArray((3,), np.float64)}

    register_aval(Particle, ParticleType)
    with pytest.raises(TypeError, match=r"Particle has an attribute 'position', as every traced.*another name"):
        make_jaxpr(lambda x: x)(Particle(np.zeros(3)))


def test_a_value_made_of_tracers_becomes_one_operand():
    program = make_jaxpr(lambda x: wider_p.bind(Interval(x, x + 1.0), by=2.0))(np.zeros(3))

    assert [eqn.primitive.name for eqn in program.eqns] == ["add", "raise", "wider"]
    assert same(eval_jaxpr(program, program.consts, np.zeros(3))[0], Interval(np.full(3, -2.0), np.full(3, 3.0)))


def test_tracers_of_arrays_are_of_their_own_class():
    seen = []
    make_jaxpr(lambda x, y: seen.extend([x, y.low]) or x)(np.zeros(3), interval(3))

    assert {type(x) for x in seen} == {JitTracer}


def test_a_tracer_outside_of_its_trace_is_refused():
    seen = []
    make_jaxpr(lambda x: seen.append(x) or x)(interval(3))

    with pytest.raises(UnexpectedTracerError, match=r"interval\[3\].*has ended"):
        wider_p.bind(seen[0], by=1.0)


def test_constants_keep_their_numbers():
    captured = interval(3)
    program = make_jaxpr(lambda x: hull_p.bind(x, captured))(interval(3))
    captured.low[:] = -100.0

    assert same(eval_jaxpr(program, program.consts, interval(3))[0], interval(3))
    assert captured_constants(program)[0].nbytes == 48
    assert jaxpr_equal(program, make_jaxpr(lambda x: hull_p.bind(x, interval(3)))(interval(3)))
    assert not jaxpr_equal(program, make_jaxpr(lambda x: hull_p.bind(x, captured))(interval(3)))


def test_types_stand_for_values():
    assert make_jaxpr(lambda x: x)(IntervalType((3,))).in_avals == [IntervalType((3,))]
    assert eval_shape(lambda x: (x, x.low), interval(3)) == (IntervalType((3,)), ShapeDtypeStruct((3,), np.float64))
    jaxpr, out = make_jaxpr(lambda x: x, return_shape=True)(interval(3))
    assert out is jaxpr.out_avals[0]


def test_a_program_prints_the_types():
    text = str(make_jaxpr(lambda x: x + x)(interval(3)))

    assert "a:interval[3]" in text
    assert "interval[3] = raise" in text


def test_programs_with_own_types_are_not_stored():
    program = make_jaxpr(lambda x: x)(interval(3))

    with pytest.raises(TypeError, match=r"jaxpr_to_dict: .*class IntervalType, which cannot be stored"):
        jaxpr_to_dict(program)
    with pytest.raises(TypeError, match=r"to_python: .*cannot be written as source"):
        to_python(make_jaxpr(lambda x: x + x)(interval(3)))


def test_dead_code_is_dropped():
    program, used = dce_jaxpr(make_jaxpr(lambda x, y: (x + y, x)[1])(interval(3), interval(3)), [True])

    assert not program.eqns
    assert used == [True, False]


# Evaluation, loops and branches


def test_evaluation_of_an_authors_primitive():
    assert same(wider_p.bind(interval(2), by=1.0), Interval(np.array([-1.0, 0.0]), np.array([3.0, 4.0])))
    with config.enable_checks(True):
        assert same(hull_p.bind(interval(2), interval(2)), interval(2))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_slices_inputs_and_stacks_results(reverse):
    step = lambda total, x: (total + x, 2.0 * total)
    run = lambda xs: lax.scan(step, interval(3), xs, reverse=reverse)
    xs = interval(4, 3)

    total, before = run(xs)

    assert same(total, Interval(interval(3).low + xs.low.sum(0), interval(3).high + xs.high.sum(0)))
    first = -1 if reverse else 0
    assert same(before[first], 2.0 * interval(3))
    program = make_jaxpr(run)(xs)
    check_jaxpr(program)
    for out, expected in zip(eval_jaxpr(program, program.consts, xs), (total, before)):
        assert same(out, expected)
    with config.disable_jit(True):
        assert same(run(xs)[1], before)


def test_a_scan_of_no_steps():
    _, ys = lax.scan(lambda c, x: (c, x), 0.0, Interval(np.zeros((0, 3)), np.zeros((0, 3))))

    assert typeof(ys) is IntervalType((0, 3))


def test_a_scan_needs_a_leading_axis():
    with pytest.raises(TypeError, match=r"xs is interval\[\], which has no leading axis"):
        lax.scan(lambda c, x: (c, x), 0.0, interval())
    with pytest.raises(ValueError, match=r"the leading axis of xs has size 3, but length=2 requires 2 steps"):
        lax.scan(lambda c, x: (c, x), 0.0, interval(3), length=2)


def test_branches_and_loops():
    doubled = lambda x: 2.0 * x

    assert same(lax.cond(True, doubled, lambda x: x, interval(2)), 2.0 * interval(2))
    assert same(lax.while_loop(lambda x: x.high[0] < 7.0, doubled, interval(2)), 4.0 * interval(2))
    assert same(lax.fori_loop(0, 3, lambda _, x: doubled(x), interval(2)), 8.0 * interval(2))


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (
            lambda x: lax.cond(True, lambda x: x[0], lambda x: x, x),
            r"must have equal types.* interval\[\].* interval\[",
        ),
        (lambda x: lax.cond(True, lambda x: x.low, lambda x: x, x), r"must have equal types.* float64\[2\]"),
        (lambda x: lax.scan(lambda c, _: (c[0], None), x, length=2), r"changes the type of the carry from interval"),
        (
            lambda x: lax.while_loop(lambda c: True, lambda c: c.low, x),
            r"the type of the carry from interval\[2\] to",
        ),
    ],
)
def test_other_types_are_refused(run, message):
    with pytest.raises(TypeError, match=message):
        run(interval(2))


def test_zeros_and_sums():
    x = interval(2)

    assert same(instantiate_zeros(zero_tangent(x)), 0.0 * x)
    assert same(add_tangents(x, x), 2.0 * x)
    assert add_tangents(zero_tangent(x), x) is x


def test_axes_move_with_those_of_the_arrays():
    x = interval(2, 3)

    assert same(moveaxis(x, 0, 1), Interval(x.low.T, x.high.T))
    assert same(matchaxis(interval(2), None, 1, 3), Interval(*(np.stack([a] * 3, 1) for a in lowered(interval(2)))))
    assert same(item_of(x, 1), x[1])
    assert same(stacked([x[0], x[1]], IntervalType((3,))), x)
    assert same(raised(lowered(x), typeof(x)), x)


def test_results_share_no_memory_with_arguments():
    x = interval(2)
    for out in (lax.cond(True, lambda x: x, lambda x: x, x), lax.scan(lambda c, _: (c, None), x, length=0)[0]):
        out.low[:] = 9.0
        assert same(x, interval(2))
    first, second = lax.cond(True, lambda x: (x, x.low), lambda x: (x, x.low), x)
    second[:] = 9.0
    assert same(first, interval(2))
    assert same(x, interval(2))


def test_callbacks_get_the_values(capsys):
    debug.print("{x}", x=interval())
    width = io_callback(lambda x: x.width, ShapeDtypeStruct((), np.float64), interval())

    assert capsys.readouterr().out == "Interval(low=array(0.), high=array(2.))\n"
    assert width == 2.0


# Programs of arrays alone


def lowered_program(fun, *args):
    program = make_jaxpr(fun)(*args)
    arrays = lower_values(program)
    check_jaxpr(arrays)
    assert not has_own_values(arrays)
    values = [a for x in args for a in lowered(x)]
    expected = [a for x in eval_jaxpr(program, program.consts, *args) for a in lowered(x)]
    for got, array in zip(eval_jaxpr(arrays, arrays.consts, *values), expected, strict=True):
        np.testing.assert_array_equal(got, array)
    return arrays


def test_a_program_of_arrays_has_neither_of_the_two_primitives():
    arrays = lowered_program(lambda x: x + x, interval(3))

    assert [eqn.primitive.name for eqn in arrays.eqns] == ["add", "add"]
    assert arrays.in_avals == [ShapedArray((3,), np.float64)] * 2


def test_a_program_without_own_types_is_the_same():
    program = make_jaxpr(lax.sin)(1.0)

    assert lower_values(program) is program
    assert lower_values(make_jaxpr(lambda x: x)(interval(2))) is not program


CAPTURED = interval(3)


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: hull_p.bind(x, CAPTURED),
        lambda x: hull_p.bind(x, 2.0 * x).width,
        lambda x: lax.scan(lambda c, y: (hull_p.bind(c, y * x.low[0]), (y, c.low)), x, interval(2, 3)),
        lambda x: lax.cond(x.low[0] > 0.0, lambda x: x, lambda x: hull_p.bind(x, CAPTURED), x),
        lambda x: lax.while_loop(lambda c: c[0].high[1] < x.low[2] + 9.0, lambda c: (c[0] + x, c[1] + 1), (x, 0)),
        lambda x: lax.stop_gradient(x),
        lambda x: Interval(0.0, 1.0) * x.low[0],
        lambda x: lax.optimization_barrier(x),
    ],
    ids=["decomposition", "nested", "scan", "cond", "while", "stop_gradient", "weak", "barrier"],
)
def test_programs_of_arrays_compute_the_same(fun):
    lowered_program(fun, interval(3))


def test_a_primitive_without_a_decomposition_is_named():
    program = make_jaxpr(lambda x: wider_p.bind(x, by=1.0))(interval(3))

    with pytest.raises(
        MissingRuleError, match=r"'wider' at .* has an operand or a result of type interval\[3\].* wider_p"
    ) as info:
        lower_values(program)
    assert info.value.primitive == "wider"
    assert info.value.kind == "decomposition"


def test_an_operation_of_ours_that_takes_arrays_alone_is_named():
    program = make_jaxpr(lambda x: check(x.low[0] < 1.0, "too high: {}", x) or x)(interval(3))

    with pytest.raises(MissingRuleError, match=r"'check' at .*type interval\[3\].*takes no values of own types"):
        lower_values(program)


def test_a_value_is_not_divided_over_a_mesh():
    divided = shard_map(
        lambda x: x, mesh=AbstractMesh((1,), ("i",)), in_specs=PartitionSpec(), out_specs=PartitionSpec()
    )

    with pytest.raises(TypeError, match=r"x is a value of type interval\[3\], which has no shards\. Pass its arrays"):
        make_jaxpr(divided)(interval(3))
