"""Updates of elements: `x.at[index].add(y)` is a new array, and `x` stays as it is.

One idea: an index in normal form is the windows of one `scatter`.  A slice of all elements or of neighbours is an axis
of the windows; positions, and slices with another step, are rows of indices.  A mask that is traced chooses between the
old array and the updated one.

Read next: `indices.py`, the normal form; `indexing.py`, which reads.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, TypedDict, Unpack

import numpy as np

from calque_core import lax
from calque_core.arrays.index_items import Part
from calque_core.arrays.indexing import check_sizes, read
from calque_core.arrays.indices import Form, are_known_checked, is_array, normal_form, rows_of, rows_of_indices
from calque_core.arrays.masks import whole_mask
from calque_core.arrays.numpy_arithmetic import as_dtype, power, true_divide
from calque_core.arrays.numpy_sequences import array_of
from calque_core.backends import on_device_of
from calque_core.calls.api_util import check_callable
from calque_core.context import here
from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.elementwise.declare import as_result
from calque_core.ops.shapes.broadcast import broadcast_to
from calque_core.record import Record
from calque_core.types.array_methods import array_property
from calque_core.types.avals import Shape, ShapedArray, typeof
from calque_core.types.dtypes import dtype_name

Value = Any
Update = Callable[[Value, Value], Value]


class Options(TypedDict, total=False):
    """The treatment of positions out of bounds, and the caller's promises; as for `lax.scatter`."""

    mode: str | lax.GatherScatterMode | None
    indices_are_sorted: bool
    unique_indices: bool
    wrap_negative_indices: bool


class At:
    """The elements of an array, to be chosen by an index: `at(x)[index]`."""

    __slots__ = ("array",)

    def __init__(self, array: Value) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> ElementsAt:
        return ElementsAt(self.array, index)

    def __repr__(self) -> str:
        return f"<at of {typeof(self.array)}: choose elements by x.at[index]>"


@array_property
def at(x: Value) -> At:
    """Return `x.at` of any array: `at(x)[index].set(y)` serves NumPy's arrays, which have no `.at`.

    The methods of `at(x)[index]` are `.get`, `.set`, `.add`, `.subtract`, `.multiply` (also `.mul`), `.divide`,
    `.power`, `.min`, `.max` and `.apply`.
    The index is any of NumPy's; integers and arrays of integers may be traced.
    Each method takes `mode`, which is "clip", "fill", "drop" or "promise_in_bounds", and the promises `unique_indices`
    and `indices_are_sorted`, as `lax.gather` and `lax.scatter` do.  Without a mode, a known index out of bounds is an
    IndexError; a traced one is clipped by `get`, and its update is dropped; `enable_checks` makes it an error in
    evaluation.  `get` also takes `fill_value`, which means the mode "fill".  A negative index counts from the end, but
    with `wrap_negative_indices=False` it is out of bounds.
    All updates of one element are made; `set` keeps the last.  A mask may be traced if the update is one value for all
    elements.
    Shapes: x [*s] -> [*s], or the shape of `x[index]` for `get`.  Dtype: of `x`.
    Raises: IndexError for an index that NumPy refuses; ShapeError for an update that does not broadcast; TypeError for
    an update that would lose fractions or imaginary parts.

    >>> import numpy as np
    >>> from calque_core.engine.numpy_functions import at
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> at(x)[1:].add(10.0), at(x)[[0, 0]].multiply(3.0), at(x)[5].get(mode="clip")
    (array([ 1., 12., 13.]), array([9., 2., 3.]), np.float64(3.0))
    """
    typeof(x)
    return At(x)


class ElementsAt:
    """The elements of an array at an index, to be read or updated."""

    __slots__ = ("array", "index")

    def __init__(self, array: Value, index: Any) -> None:
        self.array, self.index = array, index

    def __repr__(self) -> str:
        return f"<elements of {typeof(self.array)}: read or update them by a method, as x.at[index].set(y)>"

    def get(self, *, fill_value: Any = None, **options: Unpack[Options]) -> Value:
        """Return the elements."""
        if fill_value is not None and options.get("mode") is None:
            options["mode"] = "fill"
        index = self._index("get", options)
        form = normal_form(typeof(self.array), index, is_checked=options.get("mode") is None)
        return read(self.array, form, mode=_mode(options), fill_value=fill_value, **_promises(options))

    def set(self, value: Value, **options: Unpack[Options]) -> Value:
        """Return the array with the elements replaced; of several values for one element, by the last."""
        return self._updated(lax.scatter, lambda x, y: y, value, options)

    def add(self, value: Value, **options: Unpack[Options]) -> Value:
        """Return the array with `value` added to the elements."""
        return self._updated(lax.scatter_add, lax.add, value, options)

    def subtract(self, value: Value, **options: Unpack[Options]) -> Value:
        """Return the array with `value` subtracted from the elements."""
        return self._updated(lax.scatter_sub, lax.sub, value, options)

    def multiply(self, value: Value, **options: Unpack[Options]) -> Value:
        """Return the array with the elements multiplied by `value`."""
        return self._updated(lax.scatter_mul, lax.mul, value, options)

    mul = multiply

    def divide(self, value: Value, **options: Unpack[Options]) -> Value:
        """Return the array with the elements divided by `value`.  Raises: TypeError for integers."""
        _check_options("divide", options)
        return true_divide(_floating("divide", self.array), self._factors(value, options))

    def power(self, value: Value, **options: Unpack[Options]) -> Value:
        """Return the array with the elements to the power `value`.  Raises: TypeError for integers."""
        _check_options("power", options)
        return power(_floating("power", self.array), self._factors(value, options))

    def min(self, value: Value, **options: Unpack[Options]) -> Value:
        """Return the array with the lesser of each element and `value`."""
        return self._updated(lax.scatter_min, lax.min, value, options)

    def max(self, value: Value, **options: Unpack[Options]) -> Value:
        """Return the array with the greater of each element and `value`."""
        return self._updated(lax.scatter_max, lax.max, value, options)

    def apply(self, func: Callable[[Value], Value], **options: Unpack[Options]) -> Value:
        """Return the array with `func` of the elements, once for each time that the index names an element."""
        check_callable(func, "apply")
        index = self._index("apply", options)
        x, aval = self.array, typeof(self.array)
        mask = whole_mask(aval, self.index)
        if mask is not None:
            new = func(lax.select(mask.spread(), x, lax.discard(x)))
            return lax.select(mask.spread(), lax.convert_element_type(new, aval.dtype), x)
        target = _target(aval, index, options)
        if target.is_whole or target.is_empty:
            return as_result(x) if target.is_empty else lax.convert_element_type(func(x), aval.dtype)
        return lax.scatter_apply(
            x, target.indices, func, target.numbers, update_shape=target.update_shape, **target.options
        )

    def _factors(self, value: Value, options: Options) -> Value:
        """Return ones, multiplied by the values at the index."""
        return ElementsAt(lax.ones_like(self.array), self.index).multiply(value, **options)

    def _updated(self, scatter: Callable[..., Value], update: Update, value: Value, options: Options) -> Value:
        """Return the array with values scattered into it, or, by a traced mask, updated as a whole and chosen."""
        x, aval, index = self.array, typeof(self.array), self._index(scatter.__name__, options)
        value = _as_dtype_of(aval, value)
        mask = whole_mask(aval, self.index)
        if mask is not None:
            return lax.select(mask.spread(), update(x, mask.fitted(value)), x)
        target = _target(aval, index, options)
        updates = lax.reshape(_broadcast_to(target.shape, value), target.update_shape)
        if target.is_whole or target.is_empty:
            return as_result(x) if target.is_empty else on_device_of((x,), as_result(update(x, updates)))
        return scatter(x, target.indices, updates, target.numbers, **target.options)

    def _index(self, name: str, options: Options) -> Any:
        """Return the index for the options of a method, and take `wrap_negative_indices` from them."""
        _check_options(name, options)
        if options.pop("wrap_negative_indices", True):
            return self.index
        sizes = typeof(self.array).shape
        items = self.index if type(self.index) is tuple else (self.index,)
        return tuple(_not_wrapped(item, max(sizes, default=0), options.get("mode")) for item in items)


def _not_wrapped(item: Any, size: int, mode: Any) -> Any:
    """Return an item of an index, with negative positions so low that they stay negative when they are wrapped.

    Raises: IndexError for a known negative position without a mode.
    """
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    item = array_of(item) if isinstance(item, (list, tuple)) else item
    if typeof(item).kind != "i":
        return item
    is_known = isinstance(item, (int, np.integer, np.ndarray))
    if mode is None and is_known and (np.asarray(item) < 0).any() and are_known_checked():
        raise IndexError(
            f"index {np.min(item)} is negative{where()}, and wrap_negative_indices is False. Leave it True, or give a "
            "mode."
        )
    item = lax.convert_element_type(item, np.int64)
    return lax.select(lax.lt(item, 0), lax.sub(item, size), item)


def _target(aval: ShapedArray, index: Any, options: Options) -> Target:
    return _target_of(aval, normal_form(aval, index, is_checked=options.get("mode") is None), options)


def _check_options(name: str, options: Options) -> None:
    """Refuse an option of another library's.  Raises: TypeError that lists the options."""
    unknown = options.keys() - Options.__annotations__.keys()
    if unknown:
        raise TypeError(
            f"x.at[index].{_METHODS.get(name, name)}{where()} has no option {min(unknown)!r}. Its options are "
            f"{', '.join(Options.__annotations__)}{', fill_value' if name == 'get' else ''}."
        )


_METHODS = {
    "scatter": "set",
    "scatter_add": "add",
    "scatter_sub": "subtract",
    "scatter_mul": "multiply",
    "scatter_min": "min",
    "scatter_max": "max",
}


def _mode(options: Options) -> lax.GatherScatterMode:
    mode = options.get("mode")
    return lax.GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else lax.GatherScatterMode.from_any(mode)


def _promises(options: Options) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "mode"}


# The update


def _as_dtype_of(aval: ShapedArray, value: Value) -> Value:
    """Return an update in the dtype of the array.

    An update whose kind is wider is converted where the settings promote by kind, with a warning.
    Raises: TypeError for such an update otherwise.
    """
    value = array_of(list(value)) if isinstance(value, (list, tuple)) else value
    if _WIDTHS.get(typeof(value).kind, 2) > _WIDTHS.get(aval.kind, 2):
        words = (
            f"an update of {aval} with {typeof(value)}{where()}: {dtype_name(aval.dtype)} cannot hold it. Convert "
            "the array or the update first: x.astype(dtype)."
        )
        if here().settings.numpy_dtype_promotion != "by_kind":
            raise TypeError(words)
        warnings.warn(words, FutureWarning, stacklevel=2)
    return as_dtype(value, aval.dtype)


_WIDTHS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


def _broadcast_to(shape: Shape, value: Value) -> Value:
    """Return an update in the shape of the elements; as in NumPy, it may have more axes of size 1 in front."""
    value_shape = typeof(value).shape
    surplus = max(len(value_shape) - len(shape), 0)
    trailing = value_shape[surplus:]
    fits = all(n == 1 for n in value_shape[:surplus])
    if not fits or any(n not in (1, m) for n, m in zip(trailing[::-1], shape[::-1])):
        raise ShapeError(
            f"an update of type {typeof(value)}{where()} does not broadcast to the elements of shape {shape} that the "
            "index takes. Give one value for each, or axes of size 1."
        )
    return broadcast_to(lax.reshape(value, trailing) if surplus else value, shape)


def _floating(name: str, x: Value) -> Value:
    if typeof(x).kind in "biu":
        raise TypeError(f"x.at[index].{name}{where()} of {typeof(x)} gives floats. Convert first: x.astype(float).")
    return x


# The windows


class Target(Record):
    """The windows of a scatter that an index takes: the elements have `shape`, the updates lack its new axes."""

    indices: Value
    numbers: lax.ScatterDimensionNumbers
    shape: Shape
    update_shape: Shape
    options: dict[str, Any]
    is_whole: bool

    @property
    def is_empty(self) -> bool:
        """Whether there are no elements."""
        return not math.prod(self.shape)


def _target_of(aval: ShapedArray, form: Form, options: Options) -> Target:
    """Return the windows for an index.  Rows of indices and axes of windows are in the order of the elements' axes."""
    kept, taken = _by_axis(form)
    place = form.layout.place
    shape: list[int] = []
    update_shape: list[int] = []
    rows: list[int] = []
    window_dims: list[int] = []
    columns: dict[int, tuple[Any, Shape]] = {}  # for each axis of the array, positions and their axes of the rows
    for axis, part in [*kept[:place], (_POSITIONS, form.layout.shape), *kept[place:]]:
        if part is None:
            shape.append(1)
            continue
        if axis is _POSITIONS:
            columns |= {a: (p, rows_of(typeof(p).shape, len(rows), len(part)) if is_array(p) else ()) for a, p in taken}
            rows += part
            sizes = part
        else:
            chosen = range(*slice(*part).indices(aval.shape[axis]))
            sizes = (len(chosen),)
            if len(chosen) > 1 and chosen.step != 1:
                columns[axis] = np.array(chosen), (len(rows),)
                rows += sizes
            else:
                window_dims.append(len(update_shape))
                if len(chosen) < aval.shape[axis]:
                    columns[axis] = chosen.start if chosen else 0, ()
        shape += sizes
        update_shape += sizes
    mapped = tuple(sorted(columns))
    inserted = tuple(axis for axis in mapped if axis in dict(taken) or columns[axis][1])
    if math.prod(shape):
        check_sizes(aval, inserted)
    return Target(
        rows_of_indices([(columns[axis][0], aval.shape[axis], columns[axis][1]) for axis in mapped], tuple(rows)),
        lax.ScatterDimensionNumbers(tuple(window_dims), inserted, mapped),
        tuple(shape),
        tuple(update_shape),
        {**options, "mode": _mode(options), "unique_indices": _is_unique(aval, form, taken, options)},
        is_whole=not columns,
    )


_POSITIONS = -1  # in the place of an axis: the axes of positions


def _by_axis(form: Form) -> tuple[list[tuple[int, Part]], list[tuple[int, Part]]]:
    """Return slices and new axes, and integers and arrays, each with its axis of the array."""
    kept: list[tuple[int, Part]] = []
    taken: list[tuple[int, Part]] = []
    axis = 0
    for part in form.parts:
        (kept if part is None or type(part) is tuple else taken).append((axis, part))
        axis += part is not None
    return kept, taken


def _is_unique(aval: ShapedArray, form: Form, taken: list[tuple[int, Part]], options: Options) -> bool:
    """Tell whether no element is updated twice: by promise, or because positions are known and differ.

    Positions out of bounds count as the nearest ones inside, which mode="clip" updates.
    """
    if options.get("unique_indices") or not all(isinstance(part, (int, np.ndarray)) for _, part in taken):
        return options.get("unique_indices", False)
    flat = np.zeros(form.layout.shape, np.int64)
    for axis, part in taken:
        positions, size = np.asarray(part).astype(np.int64), aval.shape[axis]
        flat = flat * size + np.minimum(np.maximum(positions, 0), size - 1)
    return np.unique(flat).size == flat.size
