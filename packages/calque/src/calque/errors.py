"""The exceptions of `calque_core`, under jax's module path."""

from calque_core import (
    CheckError,
    ConcretizationTypeError,
    JaxprTypeError,
    MissingRuleError,
    NoArrayError,
    NonConcreteBooleanIndexError,
    NumpyRuleError,
    ShapeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)

__all__ = [
    "CheckError",
    "ConcretizationTypeError",
    "JaxprTypeError",
    "MissingRuleError",
    "NoArrayError",
    "NonConcreteBooleanIndexError",
    "NumpyRuleError",
    "ShapeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
]
