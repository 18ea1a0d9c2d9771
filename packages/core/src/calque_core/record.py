"""Named tuples whose classes are made fast: `Record`.

One idea: `typing.NamedTuple` compiles each annotation and generates the code of each class, which takes 0.2 ms a class,
a tenth of the import of core.  A record has the same fields, defaults and methods, and its class takes 10 us.  Modules
that `import calque_core` or a first gradient loads define records, unless their fields are read in every operation,
which takes two thirds of the time for a `NamedTuple`; other modules may use `NamedTuple`.

Read next: `context.py`, whose settings are a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, ClassVar, Self, dataclass_transform


class _RecordType(type):
    """Makes a property of each annotation of a class body."""

    def __new__(mcls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        fields = tuple(field for field in body.get("__annotations__", ()) if not field.startswith("_"))
        defaults = {field: body[field] for field in fields if field in body}
        names: dict[str, Any] = {
            "__slots__": (),
            "__match_args__": fields,
            "_fields": fields,
            "_field_defaults": defaults,
        }
        getters = {field: property(itemgetter(i)) for i, field in enumerate(fields)}
        return super().__new__(mcls, name, bases, body | names | getters)


@dataclass_transform(frozen_default=True)
class Record(tuple[Any, ...], metaclass=_RecordType):
    """A tuple whose elements have names: the annotations of the class body, with their defaults.

    Raises: TypeError for a value that is missing, or has no field.

    >>> class Point(Record):
    ...     x: float
    ...     y: float = 0.0
    >>> Point(1.0), Point(1.0, y=2.0)._replace(x=3.0), Point(1.0) == (1.0, 0.0)
    (Point(x=1.0, y=0.0), Point(x=3.0, y=2.0), True)
    """

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]]
    _field_defaults: ClassVar[dict[str, Any]]

    def __new__(cls, *values: Any, **named: Any) -> Self:
        if named or len(values) != len(cls._fields):
            values = cls._in_order(values, named)
        return tuple.__new__(cls, values)

    @classmethod
    def _in_order(cls, values: Sequence[Any], named: dict[str, Any]) -> tuple[Any, ...]:
        """Return the values of all fields, from values by position, values by name, and defaults."""
        positional = dict(zip(cls._fields, values))
        merged = cls._field_defaults | positional | named
        if len(values) > len(cls._fields) or positional.keys() & named.keys() or merged.keys() != set(cls._fields):
            arguments = ", ".join([*map(repr, values), *(f"{name}={value!r}" for name, value in named.items())])
            raise TypeError(
                f"{cls.__name__} has the fields {', '.join(cls._fields)}, but the arguments are ({arguments}). "
                "Pass each field once."
            )
        return tuple([merged[field] for field in cls._fields])

    def _replace(self, **named: Any) -> Self:
        """Return a copy with other values of some fields."""
        return type(self)(**dict(zip(self._fields, self)) | named)

    def _asdict(self) -> dict[str, Any]:
        """Return the values by field."""
        return dict(zip(self._fields, self))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{field}={x!r}' for field, x in zip(self._fields, self))})"
