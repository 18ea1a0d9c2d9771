"""Primitives and jaxprs are shared by copies, and pickle names the way out."""

import copy
import pickle

import pytest

import calque_core as core
from calque_core import Primitive, eval_jaxpr, lax, make_jaxpr


def twice_shifted(x):
    return lax.add(lax.sin(x), lax.sin(1.0))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: copy.deepcopy({"a": [x]})["a"][0]])
def test_a_copy_of_a_primitive_or_jaxpr_is_itself(copied):
    jaxpr = make_jaxpr(twice_shifted)(1.0)
    assert copied(jaxpr) is jaxpr
    assert copied(lax.sin_p) is lax.sin_p


class Model:
    """A user's object that keeps a program beside its numbers."""

    def __init__(self):
        self.program, self.numbers = make_jaxpr(twice_shifted)(1.0), [1.0]


def test_a_deep_copy_of_an_object_keeps_its_program_and_copies_its_numbers():
    model = Model()
    again = copy.deepcopy(model)
    assert again.numbers is not model.numbers
    assert make_jaxpr(lambda x: eval_jaxpr(again.program, (), x))(2.0).eqns[0].primitive is lax.sin_p


def test_a_jaxpr_is_not_pickled_and_the_error_says_what_to_store():
    message = r"^a jaxpr cannot be pickled: it holds functions\. Pickle the arguments, .*: calque\.export\.$"
    with pytest.raises(TypeError, match=message):
        pickle.dumps(make_jaxpr(twice_shifted)(1.0))


@pytest.mark.parametrize("primitive", [lax.sin_p, Primitive("of_a_user")])
def test_a_primitive_is_not_pickled_and_the_error_says_what_to_do(primitive):
    message = r"^a primitive cannot be pickled: it holds functions\. Import the module that declares it instead\.$"
    with pytest.raises(TypeError, match=message):
        pickle.dumps(primitive)


def test_a_type_of_a_program_is_pickled():
    [aval] = make_jaxpr(twice_shifted)(1.0).in_avals
    assert pickle.loads(pickle.dumps(aval)) == aval == core.typeof(1.0)
