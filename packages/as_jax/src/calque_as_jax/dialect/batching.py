"""Names of `jax.interpreters.batching` that differ from calque's."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

from calque_batching import primitive_batchers
from calque_core import Primitive

__all__ = ["axis_primitive_batchers", "fancy_primitive_batchers"]


class AxisDataBatchers(MutableMapping[Primitive, Any]):
    """Batching rules that get the axis: `rule(axis_data, args, dims, **params)`."""

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


class AxisBatchers(AxisDataBatchers):
    """The same in the older form `rule(axis_size, axis_name, trace_type, args, dims, **params)`."""

    def __setitem__(self, primitive: Primitive, rule: Any) -> None:
        def of_axis(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
            return rule(axis.size, axis.name, None, args, dims, **params)

        primitive.def_rule("axis_batch", of_axis, override=True)


fancy_primitive_batchers = AxisDataBatchers()
axis_primitive_batchers = AxisBatchers()
