"""References: what they hold, what a program shows of them, and what is refused."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from calque_core import (
    Jaxpr,
    JaxprEqn,
    NoArrayError,
    ShapeDtypeStruct,
    Var,
    check_jaxpr,
    count_eqns,
    discharge,
    eval_jaxpr,
    eval_shape,
    lax,
    make_jaxpr,
    ref,
    typeof,
)
from calque_core.config import checking_leaks, enable_checks
from calque_core.jaxprs.jaxpr import subjaxprs
from calque_core.primitives.references import ref_get_p, ref_set_p
from calque_core.ref import AbstractRef, Ref, addupdate, empty_ref, free_ref, freeze, get, new_ref, swap


def test_a_reference_shares_no_memory():
    x = np.zeros(3)
    box = new_ref(x)
    read = box[...]
    part = box[1:]
    x[0] = read[1] = part[1] = 7.0
    frozen = freeze(box)
    np.testing.assert_array_equal(frozen, [0.0, 0.0, 0.0])
    frozen[0] = 1.0  # it belongs to the caller

    written = np.ones(3)
    box = new_ref(x)
    box[...] = written
    written[0] = 5.0
    np.testing.assert_array_equal(box[...], [1.0, 1.0, 1.0])


def test_a_reference_keeps_its_shape_and_dtype():
    box = new_ref(np.zeros((2, 3), np.float32))
    box[0] = 1
    box[:, 1] += np.float64(0.5)
    box[...] = box[...] * np.float64(2.0)
    assert (box.shape, box.dtype, box.ndim, box.size, len(box)) == ((2, 3), np.float32, 2, 6, 2)
    assert (str(box.aval), str(typeof(box)), typeof(box).str_short()) == (
        "float32[2,3]", "Ref{float32[2,3]}", "Ref{f32[2,3]}",
    )  # fmt: skip
    np.testing.assert_array_equal(box[...], [[2, 3, 2], [0, 1, 0]])
    assert new_ref(2).dtype == np.int64


def test_an_index_may_be_traced():
    def histogram(faces, known):
        counts = new_ref(np.zeros(4, int))

        def count(i, carry):
            counts[faces[i]] += 1
            return carry

        lax.fori_loop(0, 4, count, 0)
        counts.addupdate(10, known)
        return counts[known], freeze(counts)

    faces, known = np.array([3, 1, 3, 0]), np.array([2, 2])
    jaxpr = make_jaxpr(histogram)(faces, known)
    read, counts = eval_jaxpr(jaxpr, jaxpr.consts, faces, known)
    np.testing.assert_array_equal(read, [20, 20])
    np.testing.assert_array_equal(counts, [1, 1, 20, 2])


def test_the_functions_do_what_the_methods_do():
    box = empty_ref(ShapeDtypeStruct((3,), "int64"))
    ref.set(box, slice(1, None), 4)
    box.addupdate(1, 0)
    addupdate(box, None, 1)
    assert swap(box, 0, 9) == 2
    np.testing.assert_array_equal(get(box), [9, 5, 5])
    assert list(box) == [9, 5, 5]
    free_ref(box)
    assert repr(box) == "<reference of type Ref{int64[3]}>"


def test_a_program_has_the_reads_and_writes_of_its_arguments_in_order():
    def f(a, b):
        a[...] = b[...]
        b[...] = a[...] * 2.0

    program = make_jaxpr(f)(new_ref(1.0), new_ref(2.0))

    assert [eqn.primitive.name for eqn in program.eqns] == ["ref_get", "ref_set", "ref_get", "mul", "ref_set"]
    assert {str(effect) for effect in program.effects} == {"ordered read", "ordered write"}
    assert check_jaxpr(program).in_types == (AbstractRef(typeof(np.float64(1.0))),) * 2
    pure = discharge(program)
    assert (count_eqns(pure), eval_jaxpr(pure, pure.consts, 1.0, 2.0)) == (1, [2.0, 4.0])
    assert eval_shape(lambda a: a[...], new_ref(1.0)) == ShapeDtypeStruct((), "float64")


def test_a_discharged_program_takes_captured_references_first():
    box = new_ref(3.0)
    program = make_jaxpr(lambda x: box[...] * x)(2.0)

    pure = discharge(program)

    assert (program.consts, pure.consts) == ((box,), ())
    assert eval_jaxpr(pure, (), 3.0, 2.0) == [6.0, 3.0]
    box[...] = 5.0
    assert eval_jaxpr(program, program.consts, 2.0) == [10.0]


def test_a_reference_that_a_loop_only_reads_is_a_constant_of_it():
    box, count = new_ref(2.0), new_ref(0)

    def step(carry, x):
        count[...] += 1
        return carry * box[...], x

    program = make_jaxpr(lambda: lax.scan(step, 1.0, np.zeros(3)))()

    (scan,) = [eqn for eqn in program.eqns if eqn.primitive.name == "scan"]
    assert (scan.params["num_consts"], scan.params["num_carry"]) == (1, 2)
    assert not any(inner.effects for inner in subjaxprs(program))


def test_nested_loops_trace_each_step_once():
    traces, box = [], new_ref(0)

    def loop(depth):
        if depth:
            lax.scan(lambda c, _: (c, loop(depth - 1)), None, length=2)
        else:
            traces.append(box.addupdate(1))

    loop(5)
    assert (len(traces), box[...]) == (1, 32)


def test_a_weak_carry_beside_a_reference_takes_its_dtype():
    box = new_ref(np.float32(1.0))

    def step(total, x):
        box[...] += x
        return total + box[...], total

    total, _ = lax.scan(step, 0.0, np.ones(3, np.float32))
    assert (total.dtype, total, box[...]) == (np.float32, 9.0, 4.0)


def test_checks_and_leak_checks_accept_references():
    box = new_ref(np.zeros(2))
    with enable_checks(), checking_leaks():
        lax.fori_loop(0, 3, lambda i, c: (box.addupdate(1.0, i % 2), c)[1], 0)
        lax.cond(True, lambda: box.addupdate(1.0, 0), lambda: None)
    np.testing.assert_array_equal(box[...], [3.0, 1.0])


def test_a_reference_serves_other_threads():
    box = new_ref(0.0)
    thread = threading.Thread(target=lambda: box.addupdate(1.0))
    thread.start()
    thread.join()
    assert box[...] == 1.0


BOX = new_ref(np.zeros(3))
KEPT: list[Ref] = []
REFUSED = {
    "no array": (lambda: new_ref("a"), TypeError, "new_ref got 'a' of type str at .* Give an array or a scalar"),
    "a reference": (lambda: new_ref(BOX), TypeError, "new_ref got Ref"),
    "no reference": (lambda: freeze(1.0), TypeError, "freeze got 1.0 of type float at .* Give a reference"),
    "an operand": (lambda: lax.sin(BOX), TypeError, r"a reference of type Ref.* was used as an array at .* Read it "),
    "an operand of a primitive": (
        lambda: lax.sin_p.bind(BOX), TypeError, r"sin.* got a reference of type Ref\{float64\[3\]\}. Read it first",
    ),
    "no axes": (lambda: len(new_ref(1.0)), TypeError, r"len\(\) of a reference of type Ref\{float64\[\]\} at"),
    "out of bounds": (lambda: BOX[3], IndexError, "index 3 is out of bounds"),
    "other dtype": (lambda: ref.set(BOX, 0, 1j), TypeError, "float64 cannot hold it"),
    "other shape": (lambda: ref.set(BOX, ..., np.ones(2)), ValueError, "does not broadcast to the elements of shape"),
    "frozen": (lambda: end(freeze)[...], ValueError, "was used at .* after freeze at .* Make a new reference: "),
    "freed": (lambda: end(free_ref)[...], ValueError, "was used at .* after free_ref at"),
    "frozen argument": (
        lambda: make_jaxpr(freeze)(new_ref(1.0)), ValueError, "freeze got a reference from outside of make_jaxpr of",
    ),
    "after its trace": (
        lambda: (make_jaxpr(lambda: KEPT.append(new_ref(1.0)))(), KEPT[0][...]),
        ValueError, r"was made inside make_jaxpr of .* and used outside of it at .* Return its value instead: freeze",
    ),
    "ref_get of an array": (lambda: ref_get_p.bind(1.0), TypeError, "ref_get got ~float64.* Give a reference"),
    "ref_set of another type": (
        lambda: ref_set_p.abstract(typeof(new_ref(1.0)), typeof(1)),
        ValueError,
        "ref_set got ~int64.* for a reference of type .*Write an array",
    ),
    "discharge of an operand": (
        lambda: discharge(operand_program()), TypeError, "'neg' takes a reference of type .*, which it neither",
    ),
    "discharge of a function": (lambda: discharge(len), TypeError, "discharge"),
    "type": (lambda: typeof(BOX).other, AttributeError, "AbstractRef has no attribute 'other'"),
}  # fmt: skip


USES = {
    "truth": bool, "array": np.asarray, "ufunc": np.sin, "sum": np.sum, "dot": lambda x: np.dot(x, x),
    "+": lambda x: x + 1,
    "1 +": lambda x: 1 + x, "array +": lambda x: np.ones(3) + x, "tracer +": lambda x: make_jaxpr(lambda y: y * x)(1.0),
    "<": lambda x: x < 1, "-": lambda x: -x, "index": lambda x: [1.0][x], "list": lambda x: np.stack([x, x]),
    "items": lambda x: np.ones(3)[x],
}  # fmt: skip


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_reference_is_no_array(use):
    words = r"a reference of type Ref\{float64\[3\]\} was used as an array at .*test_ref.* Read it first: ref\["
    with pytest.raises(NoArrayError, match=words):
        use(BOX)


def end(function):
    box = new_ref(1.0)
    function(box)
    return box


def operand_program():
    x, y = Var(typeof(new_ref(1.0))), Var(typeof(1.0))
    return Jaxpr((), [x], [JaxprEqn(lax.neg_p, [x], [y], {})], [y])


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    call, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        call()
