from __future__ import annotations

import numpy as np

from calque_autodiff.programs.partial_eval import partial_eval_jaxpr, without_repeats
from calque_core import check_jaxpr, eval_jaxpr, lax, make_jaxpr


def example(x, y, w):
    known = lax.sin(x)
    return known * w, known * y, lax.reduce_sum(w) * y


def test_the_halves_together_compute_what_the_program_does(spaced):
    args = [0.5, 2.0, spaced((3,))]
    jaxpr = make_jaxpr(example)(*args)
    split = partial_eval_jaxpr(jaxpr, [True, False, True])
    check_jaxpr(split.known)
    check_jaxpr(split.unknown)
    assert split.known_outs == [True, False, False]
    first, *residuals = eval_jaxpr(split.known, split.known.consts, args[0], args[2])
    found = [first, *eval_jaxpr(split.unknown, split.unknown.consts, *residuals, args[1])]
    for x, y in zip(found, example(*args)):
        np.testing.assert_array_equal(x, y)


def test_a_result_that_is_not_to_be_known_is_a_residual_that_is_passed_on():
    split = partial_eval_jaxpr(make_jaxpr(lambda x, y: (lax.sin(x), x * y))(1.0, 2.0), [True, False])
    fewer = split.restricted([False, False])
    assert [len(half.outvars) for half in (fewer.known, fewer.unknown)] == [2, 2]
    residuals = eval_jaxpr(fewer.known, (), 0.5)
    assert eval_jaxpr(fewer.unknown, (), *residuals, 3.0) == [np.sin(0.5), 1.5]


def test_a_residual_that_is_an_operand_is_found_there():
    split = partial_eval_jaxpr(make_jaxpr(lambda x, y: (lax.sin(x), x * y))(1.0, 2.0), [True, False])
    known, places = without_repeats(split.known, 1)
    assert places == [("in", 0)]
    assert len(known.outvars) == 1
