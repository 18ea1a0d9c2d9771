"""A traced mask as the index of an update: the whole array is updated, and the mask chooses.

How many elements the mask takes is not known, so the update is one value for all of them.
"""

from __future__ import annotations

from typing import Any

from calque_core import lax
from calque_core.arrays.index_items import MASKS, basic_item
from calque_core.errors import NonConcreteBooleanIndexError, ShapeError
from calque_core.frames.source import where
from calque_core.ops.shapes.broadcast import broadcast_to
from calque_core.record import Record
from calque_core.traces.tracer import is_tracer, known, unknown
from calque_core.types.avals import Shape, ShapedArray, typeof

Value = Any


class WholeMask(Record):
    """A mask of the axes of an array of type `aval` from `axis` on."""

    aval: ShapedArray
    mask: Value
    axis: int

    @property
    def ndim(self) -> int:
        """The number of axes of the mask."""
        return len(typeof(self.mask).shape)

    def spread(self) -> Value:
        """Return the mask in the shape of the array."""
        if not self.aval.shape:
            return self.mask
        return lax.broadcast_in_dim(self.mask, self.aval.shape, range(self.axis, self.axis + self.ndim))

    def fitted(self, value: Value) -> Value:
        """Return an update in the shape of the array.  Raises: ShapeError if it is not one value for all elements."""
        shape, whole = typeof(value).shape, self.aval.shape
        trailing = len(whole) - self.axis - self.ndim
        place = len(shape) - trailing - 1  # of the axis of the elements that the mask takes
        if place >= 0 and shape[place] == 1:
            shape = (*shape[:place], *(1,) * self.ndim, *shape[place + 1 :])
            place = -1
        if place >= 0 or not _broadcasts(shape, whole):
            raise ShapeError(
                f"an update of type {typeof(value)}{where()} at a traced mask of type {typeof(self.mask)}: how many "
                "elements the mask takes is not known while tracing. Give one value for all, or use "
                "numpy.where(mask, values, x)."
            )
        return broadcast_to(lax.reshape(value, shape), whole)


def _broadcasts(shape: Shape, whole: Shape) -> bool:
    return len(shape) <= len(whole) and all(n in (1, m) for n, m in zip(shape[::-1], whole[::-1]))


def whole_mask(aval: ShapedArray, index: Any) -> WholeMask | None:
    """Return the traced mask of an index; None if there is none.

    Raises: NonConcreteBooleanIndexError if it stands beside more than full slices; IndexError if its sizes do not fit.
    """
    items = index if type(index) is tuple else (index,)
    places = [place for place, item in enumerate(items) if _is_traced_mask(item)]
    if not places:
        return None
    mask = items[places[0]]
    others = [basic_item(item) for place, item in enumerate(items) if place != places[0]]
    if any(item is not Ellipsis and item != (None, None, None) for item in others):
        raise NonConcreteBooleanIndexError(
            f"an index of {aval}{where()} has a traced mask of type {typeof(mask)} beside other items: how many "
            f"elements it takes is not known while tracing. {MASKS}."
        )
    ndim, before = len(typeof(mask).shape), places[0]
    if Ellipsis in others[:before]:
        before += aval.ndim - ndim - len(others)
    sizes = aval.shape[before : before + ndim]
    if sizes != typeof(mask).shape or len(others) - others.count(Ellipsis) + ndim > aval.ndim:
        raise IndexError(
            f"an index of {aval}{where()} is a mask of type {typeof(mask)}, but the axes from axis {before} on have "
            f"sizes {sizes}. Give a mask of these sizes."
        )
    return WholeMask(aval, mask, before)


def _is_traced_mask(item: Any) -> bool:
    return is_tracer(item) and typeof(item).kind == "b" and known(item) is unknown
