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
