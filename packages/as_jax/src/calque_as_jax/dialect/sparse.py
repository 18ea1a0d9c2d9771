"""`jax.experimental.sparse`: the classes of sparse arrays, for libraries that ask whether a value is one.  None is."""

from __future__ import annotations

from typing import Any

__all__ = ["BCOO", "BCSR", "JAXSparse"]


class JAXSparse:
    """A sparse array; calque has none."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError(
            f"{type(self).__name__} is a sparse array, and calque has none. A sparse operator is a function: use "
            "jax.lax.custom_linear_solve or segment_sum."
        )


class BCOO(JAXSparse):
    """A sparse array by coordinates."""


class BCSR(JAXSparse):
    """A sparse array by rows."""
