"""The algorithms of products: the dtypes in which an accelerator multiplies and sums.

One idea: an algorithm converts the operands to a dtype that it reads, and sums in a dtype of its own.  Evaluation
multiplies what it reads exactly, as CPUs do; an accelerator may round it to fewer bits first.

Read next: `dot.py`.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from calque_core.frames.source import where
from calque_core.types.dtypes import as_dtype, dtype_name, is_float, short_dtype
from calque_core.types.limits import bit_width

DType = np.dtype[Any]


class DotAlgorithm(NamedTuple):
    """An algorithm: the dtypes in which it reads the operands and sums, and the products that it makes of one.

    >>> import numpy as np
    >>> from calque_core.lax import DotAlgorithm, dot
    >>> halves = DotAlgorithm(np.float16, np.float16, np.float32)
    >>> dot(np.float32([0.1]), np.float32([1.0]), precision=halves)
    np.float32(0.099975586)
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(Enum):
    """Algorithms by name: the dtypes of both operands and of sums; X3, X6 and X9 add so many products of parts.

    XLA refuses, when it compiles, what an accelerator lacks; a CPU has them all.

    >>> import numpy as np
    >>> from calque_core.lax import DotAlgorithmPreset, dot
    >>> dot(np.float32([0.1]), np.float32([1.0]), precision=DotAlgorithmPreset.F64_F64_F64)
    np.float32(0.1)
    """

    DEFAULT = "DEFAULT"
    ANY_F8_ANY_F8_F32 = "ANY_F8_ANY_F8_F32"
    ANY_F8_ANY_F8_F32_FAST_ACCUM = "ANY_F8_ANY_F8_F32_FAST_ACCUM"
    ANY_F8_ANY_F8_ANY = "ANY_F8_ANY_F8_ANY"
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = "ANY_F8_ANY_F8_ANY_FAST_ACCUM"
    F16_F16_F16 = "F16_F16_F16"
    F16_F16_F32 = "F16_F16_F32"
    BF16_BF16_BF16 = "BF16_BF16_BF16"
    BF16_BF16_F32 = "BF16_BF16_F32"
    BF16_BF16_F32_X3 = "BF16_BF16_F32_X3"
    BF16_BF16_F32_X6 = "BF16_BF16_F32_X6"
    BF16_BF16_F32_X9 = "BF16_BF16_F32_X9"
    TF32_TF32_F32 = "TF32_TF32_F32"
    TF32_TF32_F32_X3 = "TF32_TF32_F32_X3"
    F32_F32_F32 = "F32_F32_F32"
    F64_F64_F64 = "F64_F64_F64"


Algorithm = DotAlgorithm | DotAlgorithmPreset
_SINGLE = np.dtype(np.float32)


def algorithm_of(precision: Any) -> Algorithm | None:
    """Return the algorithm that the argument `precision` of a product is or names; None if it is none."""
    if isinstance(precision, str):
        return DotAlgorithmPreset.__members__.get(precision)
    if isinstance(precision, DotAlgorithm):  # by names of dtypes, which programs store and print
        lhs, rhs, sums = (dtype_name(as_dtype(dtype)) for dtype in precision[:3])
        return DotAlgorithm(lhs, rhs, sums, *precision[3:])
    return precision if isinstance(precision, DotAlgorithmPreset) else None


def algorithm_dtypes(name: str, algorithm: Algorithm, operand: DType, result: DType) -> tuple[DType, DType]:
    """Return the dtype that an algorithm reads for operands of a dtype, and the dtype of its sums.

    Raises: TypeError unless operands and result are real floats, of 8 bits for the algorithms of such; ValueError for
    an algorithm with two dtypes of operands.
    """
    call = f"{name}{where()} with the algorithm {_text(algorithm)}"
    if not (is_float(operand) and is_float(result)) or "c" in (operand.kind, result.kind):
        raise TypeError(f"{call}: operands of {dtype_name(operand)} give {dtype_name(result)}. Give real floats.")
    if isinstance(algorithm, DotAlgorithm):
        lhs, rhs, accumulated = map(as_dtype, algorithm[:3])
        if lhs != rhs:
            raise ValueError(f"{call}: the operands would have two dtypes. Give an algorithm with one.")
        return lhs, accumulated
    first, *_, last = algorithm.name.removesuffix("_FAST_ACCUM").split("_")
    if first == "ANY":
        if bit_width(operand) != 8:
            raise TypeError(f"{call}: an operand has dtype {dtype_name(operand)}. Give floats of 8 bits.")
        return operand, result if last == "ANY" else _SINGLE
    sums = last if last[0] != "X" else "F32"
    return _read(first, operand, is_in_parts=last[0] == "X"), _dtype_of(sums)


def _read(word: str, operand: DType, *, is_in_parts: bool) -> DType:
    """Return the dtype that an algorithm reads, by the first word of its name."""
    if word == "BF16":
        return _SINGLE if is_in_parts or operand == _SINGLE else _dtype_of(word)
    return _dtype_of(word)


def _dtype_of(word: str) -> DType:
    return np.dtype(short_dtype("bfloat16", "calque_core")) if word == "BF16" else np.dtype(f"float{word.lstrip('TF')}")


def _text(algorithm: Algorithm) -> str:
    return algorithm.name if isinstance(algorithm, DotAlgorithmPreset) else str(algorithm)
