"""Names of `jax.stages` that calque lacks elsewhere."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Wrapped"]


@runtime_checkable
class Wrapped(Protocol):
    """A function as `jax.jit` returns it: it can be called, and lowered without a call."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program."""

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Return the program for arguments of these types, not yet compiled."""
