"""The functions of `calque_core` about dtypes, under jax's module path."""

from calque_core import canonicalize_dtype, finfo, float0, iinfo, isdtype, issubdtype, promote_types, result_type

__all__ = [
    "canonicalize_dtype",
    "finfo",
    "float0",
    "iinfo",
    "isdtype",
    "issubdtype",
    "promote_types",
    "result_type",
]
