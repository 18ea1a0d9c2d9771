"""Names of `jax.interpreters.batching` that differ from calque's."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

from calque_batching import primitive_batchers
from calque_core import Primitive

__all__ = ["axis_primitive_batchers", "fancy_primitive_batchers"]


class AxisBatchers(MutableMapping[Primitive, Any]):
    """Batching rules that get the axis, in jax's form `rule(axis_data, args, dims, **params)`."""

    def __setitem__(self, primitive: Primitive, rule: Any) -> None:
        primitive.def_rule("axis_batch", rule, override=True)

    def __getitem__(self, primitive: Primitive) -> Any:
        return primitive_batchers[primitive]

    def __delitem__(self, primitive: Primitive) -> None:
        del primitive_batchers[primitive]

    def __iter__(self) -> Iterator[Primitive]:
        return iter(primitive_batchers)

    def __len__(self) -> int:
        return len(primitive_batchers)


axis_primitive_batchers = fancy_primitive_batchers = AxisBatchers()
