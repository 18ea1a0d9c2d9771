import numpy as np
import pytest

from calque_sparse import (
    SparsityPattern,
    acyclic_coloring,
    bicoloring,
    column_coloring,
    row_coloring,
    star_coloring,
)

ALL = [column_coloring, row_coloring, bicoloring]
SYMMETRIC = [star_coloring, acyclic_coloring]


def recovered(coloring, matrix):
    """Return the entries of a matrix from its products with the sums of the columns and rows of each colour."""
    sums = lambda colors: [(colors == color).astype(float) for color in range(colors.max(initial=-1) + 1)]
    numbers = [matrix @ seed for seed in sums(coloring.column_colors)]
    numbers = np.concatenate([np.zeros(0), *numbers, *[matrix.T @ seed for seed in sums(coloring.row_colors)]])
    if coloring.tree is not None:
        numbers = numbers * coloring.signs
        for sources, targets in coloring.tree:
            numbers = numbers + np.bincount(targets, numbers[sources], len(numbers))
        numbers = numbers * coloring.signs
    return numbers[coloring.places]


@pytest.mark.parametrize("seed", range(60))
def test_every_entry_is_read_from_the_compressed_numbers(seed):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 12, 2)
    matrix = (rng.random((m, n)) < rng.random()) * rng.normal(size=(m, n))
    square = (rng.random((n, n)) < rng.random()) * rng.normal(size=(n, n))
    for colorings, a in ((ALL, matrix), (SYMMETRIC, square + square.T)):
        pattern = SparsityPattern.of(a)
        for color in colorings:
            np.testing.assert_allclose(recovered(color(pattern), a), a[pattern.rows, pattern.columns], atol=1e-12)


def tridiagonal(n):
    return np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)


def arrow(n):
    return np.eye(n) + np.eye(n)[:, :1] + np.eye(n)[:1]


def laplacian(n):
    """The five-point stencil on a grid of n by n."""
    return np.kron(np.eye(n), tridiagonal(n)) + np.kron(tridiagonal(n), np.eye(n))


def brusselator(n):
    """Two fields on a periodic grid: each by the five-point stencil, and both at each point."""
    ring = tridiagonal(n) + np.eye(n, k=n - 1) + np.eye(n, k=1 - n)
    grid = np.kron(np.eye(n), ring) + np.kron(ring, np.eye(n))
    return np.kron(np.eye(2), grid) + np.kron(np.ones((2, 2)), np.eye(n * n))


COUNTS = {
    "tridiagonal": (tridiagonal(50), (3, 3, 3, 3, 2)),
    "arrow": (arrow(50), (50, 50, 3, 2, 2)),
    "2-D Laplacian": (laplacian(20), (5, 5, 7, 5, 4)),
    "Brusselator": (brusselator(12), (10, 10, 12, 10, 6)),
}


@pytest.mark.parametrize("name", COUNTS)
def test_the_standard_matrices_have_few_colours(name):
    matrix, counts = COUNTS[name]
    found = [color(matrix).num_colors for color in (*ALL, *SYMMETRIC)]
    assert all(a <= b for a, b in zip(found, counts)), found


def test_an_empty_matrix_needs_no_colour():
    assert [color(np.zeros((3, 3))).num_colors for color in (*ALL, star_coloring)] == [0, 0, 0, 0]


@pytest.mark.parametrize("color", SYMMETRIC)
def test_a_pattern_that_is_not_symmetric_is_refused(color):
    with pytest.raises(ValueError, match=r"not symmetric, of shape \(2, 3\). Use column_coloring"):
        color(np.ones((2, 3)))
