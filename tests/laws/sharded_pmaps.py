"""The third part of the table of sharded programs: functions with an element for each device, by `pmap`.

The programs bind its primitive without a compiler, so that they run in evaluation; types do not name their axes.
"""

from __future__ import annotations

import numpy as np
from program import numbers
from sharded_program import GRID, parts, row

from calque_core import lax, stage, typeof
from calque_core.engine import entered, here

ROWS, SQUARE = numbers((8, 3)), numbers((8, 8))


def mapped(body, axis_name, axis_size, in_axes=0, out_axes=0):
    """Return `pmap` of a function of elements, as a program without a compiler."""

    def bound(*args):
        axes = [in_axes] * len(args) if isinstance(in_axes, int) else in_axes
        avals = [element_type(typeof(x), axis) for x, axis in zip(args, axes)]
        with entered(axis_env=(*here().axis_env, (axis_name, axis_size))):
            jaxpr = stage(lambda *xs: [body(*xs)], avals)
        how = {"axis_name": axis_name, "axis_size": axis_size, "in_axes": tuple(axes), "out_axes": (out_axes,)}
        return lax.pmap_p.bind(*args, call_jaxpr=jaxpr, name="body", devices=None, compiler=None, **how)[0]

    return bound


def element_type(aval, axis):
    return aval if axis is None else aval.update(shape=(*aval.shape[:axis], *aval.shape[axis + 1 :]))


def of_sections(body, **axes):
    """Return the `make` of a `pmap` over sections of rows, one for each position."""

    def make(mesh, check_vma):
        fun = mapped(body, "i", mesh.size, **axes)
        return lambda x, *others: fun(x.reshape(mesh.size, -1, 3), *others)

    return make


def nested_pmaps(mesh, check_vma):
    sizes = mesh.shape

    def row(x):
        return mapped(lambda x: np.sin(x) * lax.psum(x, ("x", "y")) + lax.psum(x**2, "y"), "y", sizes["y"])(x)

    return lambda x: mapped(row, "x", sizes["x"])(x.reshape(sizes["x"], sizes["y"], -1))


def nested_pmaps_meaning(mesh, x):
    x = x.reshape(mesh.shape["x"], mesh.shape["y"], -1)
    return np.sin(x) * x.sum((0, 1)) + (x**2).sum(1, keepdims=True)


PMAPS = [
    row("pmap", of_sections(lambda x: x / lax.psum(np.exp(x), "i")), lambda mesh, x: (
        parts(x, mesh) / np.exp(parts(x, mesh)).sum(0)), ROWS, checked=(False,)),
    row("pmap_of_common_operands", of_sections(lambda x, w: lax.pmean(np.sin(x) @ w, "i"), in_axes=(0, None),
        out_axes=None), lambda mesh, x, w: parts(np.sin(x) @ w, mesh).mean(0), ROWS, numbers((3, 2)), checked=(False,)),
    row("pmap_along_other_axes", lambda mesh, check_vma: lambda x: mapped(
        lambda x: np.cumsum(x, 0) * lax.axis_index("i"), "i", mesh.size, in_axes=1, out_axes=2)(
        x.reshape(8 // mesh.size, mesh.size, 3)), lambda mesh, x: (
        np.cumsum(x.reshape(8 // mesh.size, mesh.size, 3), 0) * np.arange(mesh.size)[:, None]).transpose(0, 2, 1), ROWS,
        checked=(False,)),
    row("pmap_in_pmap", nested_pmaps, nested_pmaps_meaning, SQUARE, axes=GRID, checked=(False,)),
]  # fmt: skip
