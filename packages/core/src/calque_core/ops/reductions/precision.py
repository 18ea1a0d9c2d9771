"""The precision of products: how many bits of float32 an accelerator multiplies.

One idea: a product states one precision for each operand, or an algorithm; where it states none, the setting
`default_matmul_precision` decides.

Read next: `dot_algorithms.py`; `dot.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from calque_core.context import here
from calque_core.frames.source import where
from calque_core.ops.reductions.dot_algorithms import Algorithm, algorithm_of


class Precision(Enum):
    """The precision in which an accelerator multiplies: float32 by few bits, by more, or by all of them.

    Processors that have one precision only, as CPUs do, use that.

    >>> from calque_core.lax import Precision
    >>> Precision("high")
    <Precision.HIGH: 'high'>
    """

    DEFAULT = "default"
    HIGH = "high"
    HIGHEST = "highest"


Precisions = tuple[Precision, Precision]
PrecisionLike = Precision | str | Sequence[Precision | str] | Algorithm | None
ProductPrecision = Precisions | Algorithm
_OTHER_NAMES = {  # of dtypes in which an accelerator computes
    "fastest": "default", "bfloat16": "default", "tensorfloat32": "high", "bfloat16_3x": "high", "float32": "highest",
}  # fmt: skip


def stated_precision(name: str, precision: PrecisionLike) -> Precisions | None:
    """Return the precisions of both operands of `name`, by default those of the setting; None if none is stated.

    Raises: as `canonical_precision`.

    >>> from calque_core.engine import stated_precision
    >>> stated_precision("outer", "high")
    (<Precision.HIGH: 'high'>, <Precision.HIGH: 'high'>)
    """
    if precision is None:
        precision = here().settings.default_matmul_precision
    return None if precision is None else canonical_precision(name, precision)


def canonical_precision(name: str, precision: PrecisionLike) -> Precisions:
    """Return the precisions of both operands of `name`.

    Raises: ValueError for anything but a precision, its name, or a pair of them.

    >>> canonical_precision("dot_general", "high")
    (<Precision.HIGH: 'high'>, <Precision.HIGH: 'high'>)
    """
    each = precision if isinstance(precision, (tuple, list)) else (precision, precision)
    try:
        lhs, rhs = (Precision(_OTHER_NAMES.get(one, one) if isinstance(one, str) else one) for one in each)
    except ValueError:
        names = ", ".join(repr(one.value) for one in Precision)
        raise ValueError(
            f"{name}{where()}: precision is {precision!r}. Give a lax.Precision, one of the names {names}, or a "
            "pair of them."
        ) from None
    return lhs, rhs


def swapped_precision(precision: ProductPrecision | None) -> ProductPrecision | None:
    """Return the precision of a product whose operands are exchanged.

    >>> from calque_core.engine import swapped_precision
    >>> from calque_core.lax import Precision
    >>> swapped_precision((Precision.HIGH, Precision.DEFAULT))
    (<Precision.DEFAULT: 'default'>, <Precision.HIGH: 'high'>)
    """
    is_pair = precision is not None and algorithm_of(precision) is None
    return precision[::-1] if is_pair else precision  # type: ignore[index, return-value]
