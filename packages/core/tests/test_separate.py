from __future__ import annotations

import numpy as np

from calque_core import eval_jaxpr, interpret, jaxpr_as_fun, lax, make_jaxpr
from calque_core.memory.captures import Captures, is_writable
from calque_core.memory.separate import copy_shared, copy_shared_tree, owner


def test_the_owner_of_a_view_of_a_view_is_at_the_end_of_the_chain():
    x, buffer = np.zeros((3, 2)), bytearray(16)
    assert owner(x[1:].T[0]) is x
    assert owner(np.frombuffer(buffer)[1:]) is not None
    assert owner(np.lib.stride_tricks.as_strided(x)[1:]) is x
    assert owner(1.0) == 1.0


def test_an_array_is_writable_if_the_memory_that_it_views_is():
    x, captures = np.zeros(10_000), Captures()
    view = x[1:]
    view.flags.writeable = False
    assert is_writable(view)
    captures.use(x)
    assert is_writable(view)
    captures.release()
    x.flags.writeable = False
    assert not is_writable(view)


def test_results_of_one_memory_are_copied_and_others_are_not():
    x, y = np.zeros(3), np.ones(2)
    first, second, third, number = copy_shared([x, x[1:], y, 2.0], [np.ones(3)])
    assert first is x
    assert second.base is None
    assert third is y
    assert number == 2.0


def test_a_result_of_read_only_memory_is_not_copied():
    x = np.zeros(3)
    x.flags.writeable = False
    (view,) = copy_shared([x], [x])
    assert view is not x  # its shape may be set in place
    assert view.__array_interface__ == x.__array_interface__


def test_a_tree_without_shared_memory_is_returned_as_it_is():
    tree = {"w": np.zeros(3), "b": (1.0, None)}
    assert copy_shared_tree(tree, (np.ones(3),)) is tree
    assert copy_shared_tree(tree, (tree["w"],))["w"] is not tree["w"]


def test_what_a_program_gives_back_is_no_view_of_what_it_takes():
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    jaxpr = make_jaxpr(lambda y: [y, y.T, lax.sin(y)])(x)
    for outs in (eval_jaxpr(jaxpr, jaxpr.consts, x), jaxpr_as_fun(jaxpr)(x), interpret(jaxpr, {}, x)):
        for out in outs:
            assert not np.shares_memory(out, x)
            out[:] = 0.0
    np.testing.assert_array_equal(x, [[1.0, 2.0], [3.0, 4.0]])


def test_what_a_loop_or_a_branch_gives_back_is_no_view_of_what_it_takes():
    x = np.array([1.0, 2.0])
    outs = [
        lax.cond(True, lambda y: y, lambda y: y, x),
        lax.switch(0, [lambda y: y[::-1]], x),
        lax.fori_loop(0, 2, lambda i, y: y, x),
        lax.while_loop(lambda y: False, lambda y: y, x),
        lax.associative_scan(lax.add, x[:1]),
        *lax.scan(lambda carry, _: (carry[::-1], None), (x, x), length=2)[0],
    ]
    for i, out in enumerate(outs):
        assert not any(np.shares_memory(out, other) for other in (x, *outs[:i]))
