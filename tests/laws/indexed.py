"""Rows of the table: reading and writing windows at positions that are values, some equal, some out of bounds."""

from __future__ import annotations

from program import COMPLEX, FLOATS, NUMBERS, Program, always, numbers

from calque_core import lax

NUMERIC = (*COMPLEX, "float16", *NUMBERS)
ANY = (*NUMERIC, "bool")
X, UPDATES = numbers((3, 4)), numbers((3, 4), low=-1.7, high=2.3)
ROWS = always("int32", (3, 1))  # different rows between 1 and 5: inside and outside
CORNERS, PAIR, PLACE = always("int32", (2, 2)), always("int32", (2, 1)), always("int32", ())
CUBE = numbers((2, 3, 4))
OF_ROWS = lax.GatherDimensionNumbers((1,), (0,), (0,))
INTO_ROWS = lax.ScatterDimensionNumbers((1,), (0,), (0,))
INTO_ROW = lax.ScatterDimensionNumbers((0,), (0,), (0,))
OF_PAIRS = lax.GatherDimensionNumbers((), (1,), (1,), (0,), (0,))
INTO_WINDOWS = lax.ScatterDimensionNumbers((1, 2), (), (1, 0))


def read(mode, wrap=9):
    return lambda x, i: lax.gather(x, lax.rem(i, wrap), OF_ROWS, (1, 4), mode=mode, fill_value=1)


def written(name, mode="drop", wrap=9, **promises):
    write = getattr(lax, name)
    return lambda x, i, u: write(x, lax.rem(i, wrap), u, INTO_ROWS, mode=mode, **promises)


def windows(x, i):
    """Read windows of size [2, 3] whose corners are [column, row], and which are the last axes of the result."""
    return lax.gather(x, i, lax.GatherDimensionNumbers((1, 2), (), (1, 0)), (2, 3), mode="clip")


def written_at_maximum(x, u):
    return lax.scatter(x, lax.argmax(u, 0, "int32")[None], u, INTO_ROW)


def kinds(name, dtypes, ulps=0.0, complex_ulps=0.0):
    rows = {
        name: written(name),
        f"{name} clipped": written(name, "clip"),
        f"{name} twice": written(name, "drop", 2),
        f"{name} of windows": lambda x, i, u: getattr(lax, name)(x, lax.rem(i, 3), u, INTO_WINDOWS, mode="drop"),
    }
    programs = [
        Program(key, fun, (X, ROWS, UPDATES), dtypes, ulps, complex_ulps=complex_ulps) for key, fun in rows.items()
    ]
    last = programs.pop()
    return [*programs, last._replace(makers=(X, CORNERS, numbers((2, 2, 3))))]


INDEXED: dict[str, list[Program]] = {
    "gather": [
        *(Program(f"gather, {mode}", read(mode), (X, ROWS), ANY) for mode in ("clip", "fill", "promise_in_bounds")),
        Program("gather twice", read("fill", 2), (X, ROWS), FLOATS),
        Program("gather of windows", windows, (X, CORNERS), ANY),
        Program(
            "gather in pairs",
            lambda x, i: lax.gather(x, i, OF_PAIRS, (1, 1), mode="clip"),
            (numbers((2, 4)), PAIR),
            ANY,
        ),
        Program(
            "index_take", lambda x, i, j: lax.index_take(x, (i, j), (1, 0)), (X, *[always("int32", (5,))] * 2), ANY
        ),
    ],
    "scatter": [
        *kinds("scatter", ANY),
        Program("scatter of one", written_at_maximum, (X, numbers((4,))), NUMBERS),
        Program(
            "scatter_apply",
            lambda x, i: lax.scatter_apply(x, lax.rem(i, 3), lax.sin, INTO_ROWS, update_shape=(3, 4)),
            (X, ROWS),
            FLOATS,
            8,
        ),
    ],
    "scatter_add": [*kinds("scatter_add", ANY, 16, 16), *kinds("scatter_sub", NUMERIC, 16, 16)],
    "scatter_mul": kinds("scatter_mul", ANY, 16, 64),
    "scatter_min": kinds("scatter_min", (*COMPLEX, *NUMBERS, "bool")),
    "scatter_max": kinds("scatter_max", (*COMPLEX, *NUMBERS, "bool")),
    "dynamic_slice": [
        Program("dynamic_slice", lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 2)), (X, *[PLACE] * 2), ANY),
        Program("dynamic_slice_in_dim", lambda x, i: lax.dynamic_slice_in_dim(x, i, 2, 1), (X, PLACE), ANY),
        Program("dynamic_index_in_dim", lambda x, i: lax.dynamic_index_in_dim(x, i, 1), (CUBE, PLACE), ANY),
        Program(
            "dynamic_index_in_dim of an argument's rows",
            lambda x, y: lax.dynamic_index_in_dim(x, lax.argmax(y, 0), keepdims=False),
            (X, numbers((3,))),
            NUMBERS,
        ),
    ],
    "dynamic_update_slice": [
        Program(
            "dynamic_update_slice",
            lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)),
            (X, numbers((2, 2)), *[PLACE] * 2),
            ANY,
        ),
        Program(
            "dynamic_update_index_in_dim of an argument's rows",
            lambda x, y: lax.dynamic_update_index_in_dim(x, y, lax.argmax(y, 0), 0),
            (X, numbers((4,))),
            NUMBERS,
        ),
    ],
}
