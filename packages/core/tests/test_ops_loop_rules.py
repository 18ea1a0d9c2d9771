import numpy as np

from calque_core import config, eval_jaxpr, lax, make_jaxpr
from calque_core.ops.calls.loop_rules import Loop, consts_first, marked_carries, split_while


def test_marks_spread_over_carries_until_no_step_adds_one():
    calls = []

    def step(mask):
        calls.append(list(mask))
        return [mask[2], mask[0], False]

    assert marked_carries([True, False, False], step) == [True, True, False]
    assert calls == [[True, False, False], [True, True, False]]


def loop_of(f, *args, num_consts, num_carry):
    return Loop(make_jaxpr(f)(*args), num_consts, num_carry)


def test_a_loop_parts_its_operands_and_gives_the_parameters_of_its_scan():
    loop = loop_of(lambda c, a, x: (a * c, x + a), 2.0, 1.0, 3.0, num_consts=1, num_carry=1)
    assert loop.thirds("abc") == (["a"], ["b"], ["c"])
    params = loop.params({"length": 3, "reverse": False, "unroll": 1})
    carry, ys = lax.scan_p.bind(2.0, 1.0, np.arange(3.0), **params)
    assert carry == 8.0
    np.testing.assert_array_equal(ys, [1.0, 3.0, 6.0])


def test_a_loop_remembers_by_its_parts_and_by_the_settings():
    loop = loop_of(lambda a: a, 1.0, num_consts=0, num_carry=1)
    made = []
    make = lambda: made.append(1) or len(made)
    assert [loop.memo(("key",), make), loop.memo(("key",), make), loop.memo(("other",), make)] == [1, 1, 2]
    assert loop._replace(num_carry=0).memo(("key",), make) == 3
    with config.enable_x64(False):
        assert loop.memo(("key",), make) == 4


def test_the_operands_of_a_while_loop_are_parted():
    assert split_while("abcde", 1, 2) == (["a"], ["b", "c"], ["d", "e"])


def test_derivatives_of_constants_go_before_the_carry():
    def body(c, d, a, d_dot, a_dot):
        return a * c - d, a_dot * c - d_dot

    jaxpr = consts_first(make_jaxpr(body)(1.0, 2.0, 3.0, 4.0, 5.0), 2, 1)
    assert eval_jaxpr(jaxpr, jaxpr.consts, 10.0, 1.0, 0.5, 2.0, 3.0) == list(body(10.0, 1.0, 2.0, 0.5, 3.0))
