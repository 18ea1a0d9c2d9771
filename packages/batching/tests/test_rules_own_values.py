"""`vmap` over values of own types: along the leading axes of all their arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from calque_batching import vmap
from calque_core import OwnType, Primitive, ShapedArray, lax, make_jaxpr, register_aval, typeof


@dataclass(frozen=True)
class Line:
    """The points `offset + slope @ t`: two arrays of different shapes."""

    offset: Any
    slope: Any

    def at(self, t):
        return self.offset + lax.dot(self.slope, t)

    def __mul__(self, factor):
        return Line(self.offset * factor, self.slope * factor)


@dataclass(frozen=True)
class LineType(OwnType):
    """The type of lines; `batch` are the sizes of the leading axes."""

    batch: tuple
    size: int
    params: int

    @classmethod
    def of(cls, x):
        *batch, size, params = np.shape(x.slope)
        return cls(tuple(batch), size, params)

    def arrays(self):
        return {
            "offset": ShapedArray((*self.batch, self.size), np.float64),
            "slope": ShapedArray((*self.batch, self.size, self.params), np.float64),
        }

    def with_axis(self, size):
        return LineType((size, *self.batch), self.size, self.params)

    def without_axis(self):
        return LineType(self.batch[1:], self.size, self.params)


register_aval(Line, LineType)

norm_p = Primitive("norm_of_line")  # without a batch rule or a decomposition
norm_p.def_abstract_eval(lambda x: ShapedArray((), np.float64))
norm_p.def_impl(lambda x: np.sum(np.square(x.slope)))


def lines(*batch):
    rng = np.random.default_rng(0)
    return Line(rng.normal(size=(*batch, 3)), rng.normal(size=(*batch, 3, 2)))


def item(x, *i):
    return Line(x.offset[i], x.slope[i])


def same(x, y):
    np.testing.assert_allclose(x.offset, y.offset)
    np.testing.assert_allclose(x.slope, y.slope)


T = np.array([0.5, -2.0])


@pytest.mark.parametrize("size", [4, 1, 0])
def test_values_are_mapped_along_the_axis_in_front(size):
    xs = lines(size)

    out = vmap(lambda x: x.at(T))(xs)

    np.testing.assert_allclose(out, np.array([item(xs, i).at(T) for i in range(size)]).reshape(size, 3))
    same(vmap(lambda x: x * 2.0)(xs), xs * 2.0)


def test_further_axes_in_front_may_be_mapped():
    xs = lines(4, 5)

    same(vmap(vmap(lambda x: x * 2.0))(xs), xs * 2.0)
    by_columns = vmap(lambda x: x, in_axes=1)(xs)
    same(item(by_columns, 2), Line(xs.offset[:, 2], xs.slope[:, 2]))
    same(vmap(lambda x: x, in_axes=1, out_axes=1)(xs), xs)


def test_a_value_that_is_not_mapped():
    x = lines()

    np.testing.assert_allclose(vmap(x.at)(np.stack([T, 2 * T])), [x.at(T), x.at(2 * T)])
    np.testing.assert_allclose(vmap(Line.at, in_axes=(None, 0))(x, T[None]), [x.at(T)])
    same(item(vmap(lambda t: x)(np.zeros(3)), 1), x)
    same(vmap(lambda t: x, out_axes=None)(np.zeros(3)), x)


def test_values_that_the_function_makes():
    xs = lines(4)

    same(vmap(lambda a, b: Line(a, b))(xs.offset, xs.slope), xs)
    same(vmap(lambda a, b: Line(a, b), in_axes=(0, None))(xs.offset, xs.slope[0]), Line(xs.offset, xs.slope[[0] * 4]))


def test_loops_and_branches_over_batches():
    xs, flags = lines(4), np.array([True, False, True, False])
    factor = np.where(flags, 2.0, 1.0)

    doubled = vmap(lambda x, up: lax.cond(up, lambda x: x * 2.0, lambda x: x, x))(xs, flags)
    same(doubled, Line(xs.offset * factor[:, None], xs.slope * factor[:, None, None]))
    steps = np.arange(4)
    grown = vmap(lambda x, n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2.0), (0, x))[1])(
        xs, steps
    )
    same(grown, Line(xs.offset * 2.0 ** steps[:, None], xs.slope * 2.0 ** steps[:, None, None]))
    _, ys = vmap(lambda x: lax.scan(lambda c, _: (c * 2.0, c), x, length=3))(xs)
    same(Line(ys.offset[:, 2], ys.slope[:, 2]), xs * 4.0)
    total = vmap(lambda xs: lax.scan(lambda c, x: (c + x.at(T), None), np.zeros(3), xs)[0])(lines(4, 5))
    np.testing.assert_allclose(total, np.sum(lines(4, 5).offset + lines(4, 5).slope @ T, axis=1))


def test_a_staged_batch_keeps_the_types():
    program = make_jaxpr(vmap(lambda x: x * 2.0))(lines(4))

    assert program.in_avals == program.out_avals == [LineType((4,), 3, 2)]


def test_axes_that_not_all_arrays_have_are_refused():
    xs = lines(4)
    with pytest.raises(ValueError, match=r"x has type line\[4,3,2\], which has no axis 2 to map"):
        vmap(lambda x: x, in_axes=2)(xs)
    with pytest.raises(ValueError, match=r"axis 0 of y has size 3, but axis 0 of x has size 4"):
        vmap(lambda x, y: x)(xs, np.zeros(3))
    with pytest.raises(ValueError, match=r"out_axes has the entry 3 for the output"):
        vmap(lambda x: x, out_axes=3)(xs)
    with pytest.raises(ValueError, match=r"out_axes is None for the output, but it differs from element to element"):
        vmap(lambda x: x, out_axes=None)(xs)


def test_an_axis_that_the_type_does_not_know_is_refused():
    same_sizes = Line(np.zeros((3,)), np.zeros((3, 3)))

    with pytest.raises(TypeError, match=r"line\[3,3\]\.without_axis\(\) is line\[3,3\], whose array .* in_axes=None"):
        vmap(lambda x: x)(same_sizes)


def test_a_primitive_without_a_rule_is_named_or_runs_one_by_one():
    with pytest.raises(NotImplementedError, match=r"Batching rule for 'norm_of_line' not implemented"):
        vmap(norm_p.bind)(lines(4))

    norms = vmap(norm_p.bind, missing="loop")(lines(4))
    np.testing.assert_allclose(norms, np.sum(np.square(lines(4).slope), axis=(1, 2)))


def test_a_type_without_axes_says_what_to_define():
    class Fixed:
        number = np.float64(1.0)

    class FixedType(OwnType):
        @classmethod
        def of(cls, x):
            return cls()

        def arrays(self):
            return {"number": ShapedArray((2,), np.float64)}

    register_aval(Fixed, FixedType)
    fixed = Fixed()
    fixed.number = np.ones(2)
    with pytest.raises(NotImplementedError, match=r"FixedType does not define without_axis, which vmap and scan need"):
        vmap(lambda x: x.number)(fixed)
    assert typeof(fixed) is FixedType()
