import weakref

import numpy as np
import pytest

from calque_core import Primitive, eval_jaxpr, interpret, jaxpr_as_fun, lax, make_jaxpr


def fun(x, y):
    return lax.sin(x) * y + 2.0, y


def test_evaluation_of_the_program_is_the_function():
    jaxpr = make_jaxpr(fun)(1.0, np.ones(3))
    args = 0.5, np.arange(3.0)
    for got, want in zip(eval_jaxpr(jaxpr, jaxpr.consts, *args), fun(*args)):
        assert np.array_equal(got, want)


def test_a_program_can_be_traced_again():
    jaxpr = make_jaxpr(fun)(1.0, np.ones(3))
    again = make_jaxpr(jaxpr_as_fun(jaxpr))(1.0, np.ones(3))
    assert str(again) == str(jaxpr)
    assert [eqn.source_info for eqn in again.eqns] == [eqn.source_info for eqn in jaxpr.eqns]
    assert jaxpr_as_fun(jaxpr).__name__ == "fun"
    assert jaxpr_as_fun(jaxpr).jaxpr is jaxpr


def test_constants_may_be_replaced():
    jaxpr = make_jaxpr(lambda x: x * np.ones(3))(1.0)
    assert eval_jaxpr(jaxpr, [np.arange(3.0)], 2.0)[0].tolist() == [0.0, 2.0, 4.0]


@pytest.mark.parametrize(("consts", "args"), [((), ()), ((), (1.0, 2.0)), ((1.0,), (1.0,))])
def test_wrong_numbers_of_values_are_refused(consts, args):
    message = (
        f"eval_jaxpr got {len(consts)} constants and {len(args)} arguments, but the jaxpr has 0 constants and 1 inputs"
    )
    with pytest.raises(TypeError, match=message):
        eval_jaxpr(make_jaxpr(lax.sin)(1.0), consts, *args)


def test_values_are_let_go_after_their_last_use():
    alive = []
    watch_p = Primitive("watch")
    watch_p.def_abstract_eval(lambda aval: aval)

    class Watched(np.ndarray):
        pass

    @watch_p.def_impl
    def watch_impl(x):
        alive.append(sum(ref() is not None for ref in refs))
        out = x.copy().view(Watched)
        refs.append(weakref.ref(out))
        return out

    refs = []

    def chain(x):
        for _ in range(10):
            x = watch_p.bind(x)
        return x

    jaxpr = make_jaxpr(chain)(np.ones(3))
    eval_jaxpr(jaxpr, jaxpr.consts, np.ones(3))
    assert max(alive) == 1
    assert len(alive) == 10


def test_an_error_while_running_leaves_the_place_as_it_was():
    bad_p = Primitive("bad")
    bad_p.def_abstract_eval(lambda aval: aval)

    @bad_p.def_impl
    def bad_impl(x):
        raise RuntimeError("no")

    jaxpr = make_jaxpr(lambda x: bad_p.bind(x))(1.0)
    with pytest.raises(RuntimeError, match="no"):
        eval_jaxpr(jaxpr, jaxpr.consts, 1.0)
    line = test_an_error_while_running_leaves_the_place_as_it_was.__code__.co_firstlineno
    assert make_jaxpr(lambda x: lax.sin(x))(1.0).eqns[0].source_info.line > line + 10


def notes_of(fun, *args):
    with pytest.raises(RuntimeError, match="no") as caught:
        fun(*args)
    return getattr(caught.value, "__notes__", [])


def test_an_error_in_a_program_names_the_operation_and_its_line_once():
    bad_p = Primitive("bad")
    bad_p.def_abstract_eval(lambda aval: aval)

    @bad_p.def_impl
    def bad_impl(x):
        raise RuntimeError("no")

    def bad(x):
        return bad_p.bind(x)

    program = make_jaxpr(bad)(1.0)
    outer = make_jaxpr(lambda x: lax.jit_p.bind(x, jaxpr=program, name="bad", compiler=None))(1.0)
    note = f"This happened in 'bad' at test_interpret.py:{bad.__code__.co_firstlineno + 1} ("
    for notes in (notes_of(eval_jaxpr, outer, (), 1.0), notes_of(interpret, outer, {bad_p: bad_impl}, 1.0)):
        assert sum("This happened in" in line for line in notes) == 1
        assert notes[0].startswith(note)
    assert notes_of(bad, 1.0) == []  # the traceback has the line


def test_an_error_that_has_the_place_of_its_operation_gets_no_note():
    lost_p = Primitive("lost")
    lost_p.def_abstract_eval(lambda aval: aval)
    program = make_jaxpr(lambda x: lost_p.bind(x))(1.0)
    with pytest.raises(NotImplementedError, match="'lost' not implemented") as caught:
        eval_jaxpr(program, (), 1.0)
    notes = caught.value.__notes__
    assert any("'lost' was bound at test_interpret.py:" in line for line in notes)
    assert not any("This happened in" in line for line in notes)
