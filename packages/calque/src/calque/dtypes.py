"""The functions of `calque_core` about dtypes, and the type of random keys, under jax's module path."""

from calque_core import canonicalize_dtype, finfo, float0, iinfo, isdtype, issubdtype, promote_types, result_type
from calque_numpy.random import prng_key

__all__ = [
    "canonicalize_dtype",
    "finfo",
    "float0",
    "iinfo",
    "isdtype",
    "issubdtype",
    "prng_key",
    "promote_types",
    "result_type",
]
