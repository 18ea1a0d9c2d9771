"""The functions of `calque_xla_backend.ffi` under jax's path: compiled kernels."""

from calque_xla_backend.ffi import ffi_call, ffi_lowering, include_dir, pycapsule, register_ffi_target

__all__ = ["ffi_call", "ffi_lowering", "include_dir", "pycapsule", "register_ffi_target"]
