"""Densities, ranks, codes, grids and rotations by SciPy's names: SciPy's values, evaluated and compiled."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import calque
from calque.scipy import stats
from calque.scipy.cluster.vq import vq
from calque.scipy.interpolate import RegularGridInterpolator
from calque.scipy.ndimage import map_coordinates
from calque.scipy.spatial.transform import Rotation, Slerp
from calque_core import ShapeError

pytest.importorskip("scipy", reason="scipy is not installed")
import scipy.cluster
import scipy.interpolate
import scipy.ndimage
import scipy.stats
from scipy.spatial.transform import Rotation as TheirRotation
from scipy.spatial.transform import Slerp as TheirSlerp

RANDOM = np.random.default_rng(0)


def assert_all(compute, want, *args):
    """Check the values by evaluation and by a compiled program."""
    for function in (compute, calque.jit(compute)):
        for got, right in zip(calque.tree_util.tree_leaves(function(*args)), calque.tree_util.tree_leaves(want)):
            np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-12)


def slopes(f, x):
    """Return the derivatives of a number in the elements of x by central differences."""
    steps = 1e-6 * np.eye(x.size).reshape(x.size, *x.shape)
    return np.array([(f(x + h) - f(x - h)) / 2e-6 for h in steps]).reshape(x.shape)


# Distributions of vectors


def test_densities_of_vectors_are_scipys():
    a = RANDOM.normal(size=(3, 3))
    x, mean, cov = RANDOM.normal(size=(5, 3)), RANDOM.normal(size=3), a @ a.T + np.eye(3)
    normal = scipy.stats.multivariate_normal
    several = np.stack([(k + 1) * cov for k in range(5)])
    got = lambda x, mean, cov, several: [
        stats.multivariate_normal.logpdf(x, mean, cov),
        stats.multivariate_normal.pdf(x[0], mean, 2.0),
        stats.multivariate_normal.logpdf(x[0]),
        stats.multivariate_normal.logpdf(x, cov=cov),
        stats.multivariate_normal.logpdf(x, mean, several),
    ]
    want = [normal.logpdf(x, mean, cov), normal.pdf(x[0], mean, 2.0), normal.logpdf(x[0]), normal.logpdf(x, cov=cov)]
    assert_all(
        got, [*want, np.array([normal.logpdf(*each) for each in zip(x, [mean] * 5, several)])], x, mean, cov, several
    )
    f = lambda cov: stats.multivariate_normal.logpdf(x[0], mean, (cov + cov.T) / 2)
    np.testing.assert_allclose(calque.grad(f)(cov), slopes(f, cov), rtol=1e-6, atol=1e-8)
    alpha, p = np.array([0.5, 2.0, 7.0]), np.array([0.2, 0.3, 0.5])
    shares, counts = RANDOM.dirichlet(alpha, 4).T, RANDOM.multinomial(9, p, 4)
    assert_all(stats.dirichlet.logpdf, scipy.stats.dirichlet.logpdf(shares, alpha), shares, alpha)
    assert_all(stats.dirichlet.pdf, scipy.stats.dirichlet.pdf(shares[:2], alpha), shares[:2], alpha)
    assert_all(lambda x, p: stats.multinomial.logpmf(x, 9, p), scipy.stats.multinomial.logpmf(counts, 9, p), counts, p)
    assert stats.dirichlet.logpdf([0.5, 0.6], [1, 1]) == stats.multinomial.logpmf([1, 2], 4, [0.5, 0.5]) == -np.inf
    assert stats.multivariate_normal.logpdf(np.ones(2, "f"), np.ones(2, "f"), np.eye(2, dtype="f")).dtype == np.float32


def test_densities_of_vectors_refuse_shapes_that_do_not_fit():
    with pytest.raises(ShapeError, match=r"cov is float64\[3\], and x - mean is float64\[3\]\. Give a matrix for"):
        stats.multivariate_normal.logpdf(np.ones(3), np.ones(3), np.ones(3))
    with pytest.raises(ShapeError, match=r"alpha is float64\[3\], and x is float64\[5\]\. Give a vector, and its"):
        stats.dirichlet.logpdf(np.ones(5), np.ones(3))


# Densities of samples


@pytest.mark.sampled(keep=0.5)
@pytest.mark.parametrize("method", [None, "silverman", 0.7, lambda density: 0.3])
@pytest.mark.parametrize("d", [1, 3])
def test_a_kernel_density_is_scipys(d, method):
    sample, weights = RANDOM.normal(size=(d, 12)), RANDOM.uniform(size=12) if d > 1 else None
    ours, theirs = (m.gaussian_kde(sample, method, weights) for m in (stats, scipy.stats))
    x, mean, cov = RANDOM.normal(size=(d, 5)), np.ones(d), np.eye(d)
    got = lambda density, x: [
        density.logpdf(x),
        density(x),
        density.inv_cov,
        density.neff,
        density.integrate_kde(density),
    ]
    want = [theirs.logpdf(x), theirs(x), theirs.inv_cov, theirs.neff, theirs.integrate_kde(theirs)]
    assert_all(got, want, ours, x)
    np.testing.assert_allclose(ours.integrate_gaussian(mean, cov), theirs.integrate_gaussian(mean, cov))
    assert ours.resample(calque.random.key(0), (2, 3)).shape == (d, 2, 3)
    f = lambda sample: stats.gaussian_kde(sample, method, weights).logpdf(x)[0]
    np.testing.assert_allclose(calque.grad(f)(sample), slopes(f, sample), rtol=1e-5, atol=1e-8)


def test_a_kernel_density_of_numbers_has_integrals_and_random_points():
    sample = np.array([0.0, 1.0, 5.0])
    ours, theirs = stats.gaussian_kde(sample), scipy.stats.gaussian_kde(sample)
    np.testing.assert_allclose(ours.integrate_box_1d(-1.0, 2.5), theirs.integrate_box_1d(-1.0, 2.5))
    np.testing.assert_allclose(ours(sample), theirs(sample))
    points = ours.resample(calque.random.key(1), (20000,))
    np.testing.assert_allclose(points.var(), theirs.covariance[0, 0] + sample.var(), rtol=0.05)
    assert stats.gaussian_kde(sample.astype("f"))(0.5).dtype == np.float32


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (([1.0],), r"there is 1 point\. Give two or more\."),
        (([0.0, 1.0], "wide"), r"bw_method is 'wide'\. Use 'scott', 'silverman' or a number\."),
        (([0.0, 1.0], None, [1.0]), r"weights are float64\[1\]\. Give a vector of 2 weights\."),
        ((np.ones((2, 2, 2)),), r"there are 3 axes\. Give points as columns\."),
    ],
)
def test_a_wrong_sample_is_named(args, words):
    with pytest.raises(ValueError, match=words):
        stats.gaussian_kde(*args)


def test_points_and_integrals_of_another_size_are_refused():
    density = stats.gaussian_kde(RANDOM.normal(size=(2, 5)))
    with pytest.raises(ShapeError, match=r"points are float64\[3,1\], and the sample has 2 elements a point\. Give"):
        density(np.ones((3, 1)))
    with pytest.raises(ValueError, match=r"integrate_box_1d .*points have 2 elements\. Integrate over a sample\."):
        density.integrate_box_1d(0.0, 1.0)
    with pytest.raises(ValueError, match=r"integrate_kde .*points have 2 and 1 elements\. Give as many\."):
        density.integrate_kde(stats.gaussian_kde([0.0, 1.0]))


# Ranks


@pytest.mark.parametrize("axis", [0, -1, None])
def test_modes_ranks_and_standard_errors_are_scipys(axis):
    numbers = RANDOM.integers(0, 4, (5, 6, 3)) + 0.5
    numbers[0, 0, :1] = np.nan
    got = lambda x: [
        *stats.mode(x, axis), *stats.mode(x, axis, keepdims=True),
        *(stats.rankdata(x, method, axis=axis) for method in ("average", "min", "max", "dense", "ordinal")),
        stats.sem(x, axis), stats.sem(x, axis, 0, "omit", keepdims=True),
    ]  # fmt: skip
    theirs = scipy.stats
    want = [
        *theirs.mode(numbers, axis), *theirs.mode(numbers, axis, keepdims=True),
        *(theirs.rankdata(numbers, method, axis=axis) for method in ("average", "min", "max", "dense", "ordinal")),
        theirs.sem(numbers, axis), theirs.sem(numbers, axis, 0, "omit", keepdims=True),
    ]  # fmt: skip
    assert_all(got, want, numbers)


def test_wrong_options_of_ranks_are_named():
    with pytest.raises(ValueError, match=r"mode .*nan_policy is 'omit'\. Use 'propagate', or remove NaN first\."):
        stats.mode([1.0], nan_policy="omit")
    with pytest.raises(ValueError, match=r"mode of float64\[0,3\].*no elements along the axis 0\. Give some\."):
        stats.mode(np.ones((0, 3)))
    with pytest.raises(ValueError, match=r"rankdata .*method is 'best'\. Use one of 'average', 'min', 'max'"):
        stats.rankdata([1.0], "best")


# Codes and grids


@pytest.mark.parametrize("shape", [(3,), ()])
def test_the_nearest_codes_are_scipys(shape):
    obs, codes = RANDOM.normal(size=(7, *shape)), RANDOM.normal(size=(4, *shape))
    assert_all(vq, scipy.cluster.vq.vq(obs, codes), obs, codes)
    f = lambda x: vq(x, codes)[1].sum()
    np.testing.assert_allclose(calque.grad(f)(obs), slopes(f, obs), rtol=1e-6)
    with pytest.raises(
        ShapeError, match=r"vq of .*rows must be vectors of one length\. Give observations and codes as"
    ):
        vq(obs, codes[:, None])


MODES = ["constant", "grid-constant", "nearest", "mirror", "reflect", "grid-mirror", "wrap", "grid-wrap"]


@pytest.mark.sampled(keep=0.5)
@pytest.mark.parametrize("mode", MODES)
def test_values_between_points_of_a_grid_are_scipys(mode):
    grid, places = RANDOM.normal(size=(5, 4)), RANDOM.uniform(-9, 12, (2, 50))
    places[:, :6] = np.arange(6)
    for order in (0, 1):
        want = scipy.ndimage.map_coordinates(grid, places, order=order, mode=mode, cval=-1.5)
        assert_all(lambda grid, places: map_coordinates(grid, places, order, mode, -1.5), want, grid, places)  # noqa: B023
    inside = np.array([[1.3], [0.6]])
    f = lambda places: map_coordinates(grid, places, 1, mode)[0]
    np.testing.assert_allclose(calque.grad(f)(inside), slopes(f, inside), rtol=1e-6)
    whole = np.arange(-9, 11)
    want = scipy.ndimage.map_coordinates(whole, [places[0]], order=1, mode=mode)
    np.testing.assert_array_equal(map_coordinates(whole, [places[0]], 1, mode), want)


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_a_function_on_a_grid_is_scipys(method):
    points, x = (np.array([0.0, 1, 3, 3.5, 6]), np.array([-1.0, 0, 2, 7])), RANDOM.uniform(-2, 8, (7, 2))
    for fill, values in itertools.product(
        (np.nan, None, 2.0), (RANDOM.normal(size=(5, 4)), RANDOM.normal(size=(5, 4, 3)))
    ):
        ours, theirs = (
            module.RegularGridInterpolator(points, values, method, False, fill)
            for module in (calque.scipy.interpolate, scipy.interpolate)
        )
        assert_all(ours, theirs(x), x)
        np.testing.assert_allclose(ours((x[:, 0], x[:, 1])), theirs(x))
    f = lambda x: RegularGridInterpolator(points, values)(x).sum()
    inside = np.array([[0.4, 1.5]])
    np.testing.assert_allclose(calque.grad(f)(inside), slopes(f, inside), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: map_coordinates(np.ones((2, 2)), [[0.0]], 1),
            r"there are 1 coordinates for 2 axes\. Give one for each",
        ),
        (lambda: map_coordinates(np.ones(2), [[0.0]], 3), r"order is 3\. Use the order 0 or 1, and a mode of constant"),
        (
            lambda: map_coordinates(np.ones(2), [[0.0]], 1, "far"),
            r"mode is 'far'\. Use the order 0 or 1, and a mode of",
        ),
        (
            lambda: RegularGridInterpolator(([0, 1],), [0, 1], bounds_error=True),
            r"bounds_error is True.*use fill_value\.",
        ),
        (
            lambda: RegularGridInterpolator(([0, 1, 2],), [0, 1]),
            r"the points are int64\[3\]\. Give for each axis a vector",
        ),
        (
            lambda: RegularGridInterpolator(([0, 1],), [0, 1], "cubic"),
            r"method is 'cubic'\. Use 'linear' or 'nearest'\.",
        ),
        (
            lambda: RegularGridInterpolator(([0, 1],), [0, 1])(np.ones((1, 3))),
            r"points have 3 elements, .* has 1 axes\.",
        ),
    ],
)
def test_a_wrong_grid_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# Rotations

QUATERNIONS = np.concatenate([[[0, 0, 0, 1], [1, 0, 0, 0]], RANDOM.normal(size=(4, 4))])
ours, theirs = Rotation.from_quat(QUATERNIONS), TheirRotation.from_quat(QUATERNIONS)


def test_forms_of_rotations_are_scipys():
    vectors, weights = RANDOM.normal(size=(6, 3)), RANDOM.uniform(size=6)
    forms = lambda r: [
        r.as_matrix(), r.as_rotvec(), r.as_mrp(), r.magnitude(), r.inv().as_quat(), r.apply(vectors),
        r.apply(vectors[0], inverse=True), r.mean(weights).as_matrix(), (r * r[2]).as_matrix(), r[1:3].as_rotvec(True),
    ]  # fmt: skip
    assert_all(forms, forms(theirs), ours)
    for options in ({"canonical": True}, {"scalar_first": True}):
        np.testing.assert_allclose(ours.as_quat(**options), theirs.as_quat(**options))
    made = lambda kind, vectors, matrix: [
        kind.from_rotvec(vectors).as_matrix(), kind.from_rotvec(1e-5 * vectors, degrees=True).as_matrix(),
        kind.from_mrp(vectors).as_matrix(), kind.from_matrix(matrix).as_matrix(),
    ]  # fmt: skip
    want = made(TheirRotation, vectors, theirs.as_matrix())
    assert_all(lambda v, m: made(Rotation, v, m), want, vectors, theirs.as_matrix())


AXES = [a + b + c for a, b, c in itertools.product("xyz", repeat=3) if a != b != c]


@pytest.mark.sampled(keep=0.3)
@pytest.mark.parametrize("seq", [*AXES, *map(str.upper, AXES)])
def test_turns_around_axes_are_scipys(seq):
    angles = RANDOM.normal(size=(5, 3))
    want = TheirRotation.from_euler(seq, angles)
    np.testing.assert_allclose(Rotation.from_euler(seq, angles).as_matrix(), want.as_matrix(), atol=1e-12)
    np.testing.assert_allclose(Rotation.from_quat(want.as_quat()).as_euler(seq), want.as_euler(seq), atol=1e-12)
    with warnings.catch_warnings(action="ignore"):  # SciPy warns of angles that are not unique
        edges = theirs.as_euler(seq)
    np.testing.assert_allclose(ours.as_euler(seq), edges, atol=1e-7)
    f = lambda angles: Rotation.from_euler(seq, angles).as_matrix()[0, 1]
    np.testing.assert_allclose(calque.grad(f)(angles[0]), slopes(f, angles[0]), rtol=1e-6, atol=1e-8)


def test_rotations_are_interpolated_as_scipys():
    times, x = np.array([0.0, 1.0, 2.5, 3.0, 4.0, 6.0]), RANDOM.uniform(0, 6, 9)
    assert_all(lambda r, x: Slerp(times, r)(x).as_matrix(), TheirSlerp(times, theirs)(x).as_matrix(), ours, x)
    assert_all(
        lambda slerp: slerp(2.0).as_matrix(), TheirSlerp(times, theirs)(2.0).as_matrix(), Slerp.init(times, ours)
    )
    assert np.isnan(Slerp(times, ours)(7.0).as_quat()).all()


def test_no_rotation_has_derivatives():
    assert calque.grad(lambda v: Rotation.from_rotvec(v).as_matrix()[0, 1])(np.zeros(3)).tolist() == [0.0, 0.0, -1.0]
    np.testing.assert_array_equal(calque.jacfwd(lambda v: Rotation.from_rotvec(v).as_rotvec())(np.zeros(3)), np.eye(3))


def test_rotations_are_made_joined_and_counted():
    assert Rotation.identity().single
    assert len(Rotation.concatenate([ours, Rotation.identity(2), ours[0]])) == 9
    assert Rotation.random(calque.random.key(0), 3).as_quat().shape == (3, 4)
    assert Rotation.from_rotvec(np.ones(3, "f")).as_euler("xyz").dtype == np.float32
    np.testing.assert_allclose(Rotation.from_euler("x", [0.1, 0.2]).magnitude(), [0.1, 0.2])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: Rotation.from_euler("xxy", [1, 2, 3]),
            ValueError,
            r"seq is 'xxy'\. Use letters of 'xyz', axes of space",
        ),
        (lambda: Rotation.from_euler("xy", [1, 2, 3]), ValueError, r"'xy' has 2 axes\. Give as many angles\."),
        (lambda: ours.as_euler("xy"), ValueError, r"as_euler .*seq is 'xy'\. Use letters"),
        (lambda: Rotation.from_quat([1, 2, 3]), ValueError, r"the last axes must have the sizes \(4,\)\. Give such\."),
        (lambda: len(ours[0]), TypeError, r"it has no length\. Index an array of rotations\."),
        (lambda: ours[0][0], TypeError, r"a single rotation .*has no elements\. Index an array of rotations\."),
        (lambda: Slerp([1.0], ours), ValueError, r"Give two or more times, one for each rotation\."),
    ],
)
def test_wrong_rotations_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call()
