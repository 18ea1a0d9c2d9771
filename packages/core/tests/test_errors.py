import pickle

import numpy as np
import pytest

import calque_core
from calque_core import (
    ConcretizationTypeError,
    JaxprTypeError,
    MissingRuleError,
    NonConcreteBooleanIndexError,
    NumpyRuleError,
    ShapeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
    make_jaxpr,
)
from calque_core.errors import add_remedy


@pytest.mark.parametrize(
    ("error", "bases"),
    [
        (ShapeError, (TypeError, ValueError)),
        (JaxprTypeError, (TypeError,)),
        (UnexpectedTracerError, (TypeError,)),
        (ConcretizationTypeError, (TypeError,)),
        (TracerBoolConversionError, (ConcretizationTypeError,)),
        (TracerArrayConversionError, (ConcretizationTypeError,)),
        (TracerIntegerConversionError, (ConcretizationTypeError,)),
        (NonConcreteBooleanIndexError, (IndexError, ConcretizationTypeError)),
        (NumpyRuleError, (TypeError,)),
        (MissingRuleError, (NotImplementedError,)),
    ],
)
def test_each_error_is_what_a_user_would_catch(error, bases):
    assert error.__bases__ == bases
    assert getattr(calque_core, error.__name__) is error


def test_a_missing_rule_says_what_was_looked_for():
    error = MissingRuleError("no rule", primitive="sin", kind="lowering", package="calque_xla_backend", platform="cpu")
    assert str(error) == "no rule"
    assert (error.primitive, error.kind, error.package, error.platform) == (
        "sin",
        "lowering",
        "calque_xla_backend",
        "cpu",
    )
    assert MissingRuleError("", primitive="sin", kind="jvp", package="calque_autodiff").platform is None


def test_a_remedy_is_a_line_of_the_message_once():
    error = ValueError("assignment destination is read-only")
    for _ in range(2):
        add_remedy(error, "Make a new array.")
    assert str(error) == "assignment destination is read-only\nMake a new array."
    assert not hasattr(error, "__notes__")


@pytest.mark.parametrize("error", [KeyError("x"), OSError(2, "no file"), ValueError(), ValueError(1)])
def test_a_message_that_is_no_text_keeps_its_form_and_gets_the_remedy_as_a_note(error):
    before = str(error), error.args
    for _ in range(2):
        add_remedy(error, "Make a new array.")
    assert (str(error), error.args) == before
    assert error.__notes__ == ["Make a new array."]


def test_the_summary_of_a_missing_rule_is_its_first_line():
    error = MissingRuleError("no rule\nRegister one.", primitive="sin", kind="jvp", package="calque_autodiff")
    assert error.summary == "no rule"


def test_a_missing_rule_survives_a_process_boundary():
    error = MissingRuleError("no rule", primitive="sin", kind="lowering", package="calque_xla_backend", platform="cpu")
    error.add_note("a note")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), vars(again)) == (str(error), vars(error))
    assert again.__notes__ == ["a note"]


@pytest.mark.parametrize("convert", [np.int64, lambda x: np.asarray(x, np.int64)])
def test_a_conversion_by_a_class_of_numpys_is_refused_with_astype(convert):
    with pytest.raises(TracerArrayConversionError, match=r"In place of numpy\.int64\(x\) .* x\.astype\(numpy\.int64\)"):
        make_jaxpr(convert)(np.ones(2))
