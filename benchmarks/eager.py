"""Rows: operations and gradients on concrete values, without compilation.

One idea: on scalars the arithmetic is free, and what is left is what the library adds to each operation.
Read next: `memory.py`, for what the same chain keeps.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from typing import Any

import numpy as np
from kits import in_32_bits, kits
from measure import Effort, Samples, check_agreement, race
from programs import lax_chain, network_loss, network_output, numpy_chain, rosenbrock, small_params
from table import row

EAGER = ("calque", "numpy", "autograd", "jax", "torch")
GRADIENTS = ("calque", "autograd", "jax", "torch")
HESSIANS = ("calque", "autograd", "jax")
MAPPING = ("calque", "jax")
LENGTH = 100
CAPTURING_STEPS = 1_000
MAPPED_STEPS = 10
LARGE, SLICES = 100_000, 1_000
MAPPED: dict[str, Any] = {  # of a kit and one row: operations of a kind each, without a jit
    "mul": lambda k, x: k.lax.mul(x, x),
    "dot": lambda k, x: k.lax.dot(x, x),
    "sin": lambda k, x: k.lax.sin(x),
    "sum": lambda k, x: k.numpy.sum(x),
    "reshape": lambda k, x: k.lax.reshape(x, (2, 4)),
    "concatenate": lambda k, x: k.lax.concatenate([x, x], 0),
    "index": lambda k, x: x[1],
    "max": lambda k, x: k.numpy.max(x),
    "broadcast": lambda k, x: k.lax.broadcast_in_dim(x, (3, 8), (1,)),
}
X = 2.0


@row("eager sin of a scalar", "us", budget=0.8, torch=0.93, autograd=0.98, jax=4.0)
def eager_sin(effort: Effort) -> Samples:
    return race(effort, {k.name: partial(k.lax.sin, k.scalar(X)) for k in kits(*EAGER)}, per=1, unit=1e-6)


@row("eager product of two scalars", "us", budget=0.8, torch=0.93, autograd=0.98, jax=4.0)
def eager_mul(effort: Effort) -> Samples:
    return race(effort, {k.name: partial(k.lax.mul, k.scalar(X), k.scalar(X)) for k in kits(*EAGER)}, per=1, unit=1e-6)


@row("eager grad, per operation: lax", "us", budget=6, autograd=7, torch=9, jax=119)
def eager_grad_lax(effort: Effort) -> Samples:
    return race_gradients(effort, {k.name: (k, lax_chain(k, LENGTH)) for k in kits(*GRADIENTS)})


@row("eager grad, per operation: plain NumPy", "us", budget=6, autograd=7, torch=9, jax=119)
def eager_grad_numpy(effort: Effort) -> Samples:
    """Ours is differentiated as written for NumPy; the peers need their own modules in its place."""
    modules = {k.name: (k, np if k.name == "calque" else k.numpy) for k in kits(*GRADIENTS)}
    return race_gradients(effort, {name: (k, numpy_chain(xp, LENGTH)) for name, (k, xp) in modules.items()})


@row("eager grad with a captured 32 KiB constant, per step", "us")
def captured_constant(effort: Effort) -> Samples:
    """The constant is writable: ours looks at each step whether it is still the same."""
    constant, start = np.linspace(0.999, 1.001, 4096), np.ones(4096)
    return race_captures(effort, lambda xp, x: xp.sum(repeated(x, constant)), start, CAPTURING_STEPS)


@row("eager grad with a captured view of 80 MB", "us")
def captured_view(effort: Effort) -> Samples:
    data = np.ones((1_000, 10_001))
    return race_captures(effort, lambda xp, w: xp.sum(xp.dot(data[:, :-1], w)), np.ones(10_000), 1)


@row("eager grad of a small network", "us", budget=0.9, autograd=1.0)
def small_network(effort: Effort) -> Samples:
    return race_losses(effort, network_loss, small_params())


@row("eager grad of Rosenbrock with slices", "us", budget=0.9, autograd=1.0)
def rosenbrock_gradient(effort: Effort) -> Samples:
    return race_losses(effort, rosenbrock, np.linspace(-1.0, 1.0, 10))


@row("eager grad of Rosenbrock with slices, 100,000 numbers", "us", budget=0.9, autograd=1.0)
def large_rosenbrock(effort: Effort) -> Samples:
    """Each new array costs as much as the arithmetic here."""
    return race_losses(effort, rosenbrock, np.linspace(-1.0, 1.0, LARGE))


@row("eager grad of a normalisation, 100,000 numbers", "us", budget=0.9, autograd=1.0)
def large_normalisation(effort: Effort) -> Samples:
    return race_losses(effort, normalisation, np.linspace(-1.0, 1.0, LARGE).reshape(-1, 100))


@row("eager grad of 1,000 slices of one vector, per slice", "us", budget=0.9, autograd=1.0)
def many_slices(effort: Effort) -> Samples:
    """A vector of all parameters that a program cuts: its gradient has one array, to which all slices are added."""
    samples = race_losses(effort, squares_of_slices, np.linspace(-1.0, 1.0, 10 * SLICES))
    return {name: [time / SLICES for time in times] for name, times in samples.items()}


@row("eager grad of Rosenbrock with slices, in 32 bits", "us", budget=0.9, autograd=1.0)
def narrow_rosenbrock(effort: Effort) -> Samples:
    """Settings other than the default have plans of their own."""
    with in_32_bits():
        return race_losses(effort, rosenbrock, np.linspace(-1.0, 1.0, 10, dtype=np.float32))


@row("eager grad of Rosenbrock with slices, each call of another length", "us", autograd=1.0)
def changing_lengths(effort: Effort) -> Samples:
    """No call has the types of an earlier one: all operations run as code that serves every size."""

    def gradient(kit: Any) -> Any:
        grad, lengths = kit.grad(partial(rosenbrock, plain(kit))), count(10)
        return lambda: grad(points[: next(lengths)])

    points = np.linspace(-1.0, 1.0, LARGE)
    check_agreement({k.name: gradient(k)() for k in kits("calque", "autograd")})
    return race(effort, {k.name: gradient(k) for k in kits("calque", "autograd")}, per=1, unit=1e-6)


@row("eager grad of a small network, each call with another number of examples", "us", autograd=1.0)
def changing_batches(effort: Effort) -> Samples:
    """Products and sums with a bias have new shapes at each call."""

    def gradient(kit: Any) -> Any:
        xp, numbers = plain(kit), count(10)

        def loss(p: Any, examples: Any) -> Any:
            hidden = xp.tanh(examples @ p["w1"] + p["b1"])
            return xp.mean((xp.tanh(hidden @ p["w2"] + p["b2"]) @ p["w3"] + p["b3"]) ** 2)

        grad = kit.grad(loss)
        return lambda: grad(params, inputs[: next(numbers)])["w1"]

    params, inputs = small_params(), np.linspace(-1.0, 1.0, LARGE * 16).reshape(LARGE, 16)
    check_agreement({k.name: gradient(k)() for k in kits("calque", "autograd")})
    return race(effort, {k.name: gradient(k) for k in kits("calque", "autograd")}, per=1, unit=1e-6)


@row("eager grad of springs between 100 pairs of points", "us", autograd=1.0)
def springs(effort: Effort) -> Samples:
    """Each end of a spring is read at positions, and its force is added there."""
    first, second = np.arange(100) % 40, (7 * np.arange(100) + 1) % 40
    points = np.linspace(-1.0, 1.0, 80).reshape(40, 2)
    return race_losses(effort, lambda xp, x: xp.sum(xp.sqrt(xp.sum((x[first] - x[second]) ** 2, axis=1))), points)


@row("eager grad of masked elements, each call with another number", "us", autograd=1.0)
def changing_numbers(effort: Effort) -> Samples:
    """A mask chooses another number of elements at each call, as no call before it."""

    def gradient(kit: Any) -> Any:
        grad, numbers = kit.grad(lambda x, mask: plain(kit).sum(x[mask] ** 2)), count(1)
        return lambda: grad(points, order <= next(numbers))

    points, order = np.linspace(-1.0, 1.0, LARGE // 10), np.arange(LARGE // 10)
    check_agreement({k.name: gradient(k)() for k in kits("calque", "autograd")})
    return race(effort, {k.name: gradient(k) for k in kits("calque", "autograd")}, per=1, unit=1e-6)


@row("eager grad of gammaln and erf of 100 numbers", "us", budget=1.5, autograd=1.0)
def special_functions(effort: Effort) -> Samples:
    """SciPy computes each in C; calque reads tables of short polynomials."""
    return race_special(effort, lambda special, x: special.gammaln(x) * special.erf(x), 100)


@row("eager grad of gammaln of 10,000 numbers", "us", budget=1.5, autograd=1.0)
def many_gammaln(effort: Effort) -> Samples:
    return race_special(effort, lambda special, x: special.gammaln(x), 10_000)


@row("eager grad of erf of 10,000 numbers", "us", budget=1.5, autograd=1.0)
def many_erf(effort: Effort) -> Samples:
    return race_special(effort, lambda special, x: special.erf(x), 10_000)


def race_special(effort: Effort, function: Any, count: int) -> Samples:
    def gradient(kit: Any) -> Any:
        special = import_module("calque.scipy.special" if kit.name == "calque" else f"{kit.name}.scipy.special")
        return partial(kit.grad(lambda x: plain(kit).sum(function(special, x))), points)

    points = np.linspace(0.5, 5.0, count)
    gradients = {k.name: gradient(k) for k in kits("calque", *(["autograd"] if find_spec("scipy") else []))}
    check_agreement({name: gradient() for name, gradient in gradients.items()})
    return race(effort, gradients, per=1, unit=1e-6)


@row("eager grad of prod of 30,000 numbers", "us", budget=1.5, autograd=1.0)
def large_product(effort: Effort) -> Samples:
    """Peers divide the product by each number, which gives nan beside a zero."""
    points = np.linspace(0.9995, 1.0005, 30_000)
    gradients = {k.name: partial(k.grad(plain(k).prod), points) for k in kits("calque", "autograd")}
    check_agreement({name: gradient() for name, gradient in gradients.items()})
    return race(effort, gradients, per=1, unit=1e-6)


def normalisation(xp: Any, x: Any) -> Any:
    centred = x - xp.mean(x, axis=1, keepdims=True)
    return xp.sum((centred / xp.sqrt(xp.mean(centred**2, axis=1, keepdims=True) + 1e-5)) ** 3)


def squares_of_slices(xp: Any, x: Any) -> Any:
    return sum(xp.sum(x[i : i + 10]) ** 2 for i in range(0, 10 * SLICES, 10))


@row("eager vjp of four operations", "us", budget=0.9, autograd=1.0)
def four_operations(effort: Effort) -> Samples:
    """The derivative is made and applied once: little arithmetic, so that the cost of the call itself shows."""
    programs = {k.name: (k, partial(waves, plain(k))) for k in kits("calque", "autograd")}
    pullbacks = {name: partial(pulled, k, program, np.linspace(0.1, 0.9, 3)) for name, (k, program) in programs.items()}
    check_agreement({name: np.ravel(pullback()) for name, pullback in pullbacks.items()})
    return race(effort, pullbacks, per=1, unit=1e-6)


def waves(xp: Any, x: Any) -> Any:
    return xp.sum(xp.sin(x) * x + x)


def pulled(kit: Any, program: Any, x: Any) -> Any:
    _, pull = kit.vjp(program, x)
    return pull(1.0)


@row("eager grad of grad of a scalar function", "us", budget=0.9, autograd=1.0)
def second_derivative(effort: Effort) -> Samples:
    def twice(xp: Any, grad: Any) -> Any:
        return grad(grad(lambda x: xp.sin(x) * xp.exp(-x) * x))

    derivatives = {k.name: partial(twice(plain(k), k.grad), k.scalar(0.5)) for k in kits("calque", "autograd")}
    check_agreement({name: derivative() for name, derivative in derivatives.items()})
    return race(effort, derivatives, per=1, unit=1e-6)


@row("eager gradient of a directional derivative: Rosenbrock", "us", budget=0.9, autograd=1.0)
def hessian_vector_product(effort: Effort) -> Samples:
    """The product of the Hessian and a vector, by a backward derivative of a backward derivative."""
    point, direction = np.linspace(-1.0, 1.0, 10), np.linspace(0.5, 1.5, 10)

    def product(xp: Any, grad: Any) -> Any:
        gradient = grad(partial(rosenbrock, xp))
        return grad(lambda x: xp.dot(gradient(x), direction))

    products = {k.name: partial(product(plain(k), k.grad), point) for k in kits("calque", "autograd")}
    check_agreement({name: product() for name, product in products.items()})
    return race(effort, products, per=1, unit=1e-6)


@row("eager hessian of Rosenbrock", "us", budget=0.6, autograd=1.0)
def rosenbrock_hessian(effort: Effort) -> Samples:
    return race_hessians(effort, rosenbrock, np.linspace(-1.0, 1.0, 10))


@row("eager hessian of a small network", "us", budget=0.6, autograd=1.0)
def network_hessian(effort: Effort) -> Samples:
    """The second derivatives in the 8 inputs."""
    return race_hessians(effort, network_output, np.linspace(-1.0, 1.0, 8))


@row("eager vmap of grad of a small network", "us", jax=1.0)
def mapped_gradient(effort: Effort) -> Samples:
    """The gradients of 5 networks at once."""
    networks = {name: np.stack([x * k for k in range(1, 6)]) for name, x in small_params().items()}
    programs = {k.name: k.vmap(k.grad(partial(network_loss, plain(k)))) for k in kits(*MAPPING)}
    check_agreement({name: np.asarray(program(networks)["w1"]) for name, program in programs.items()})
    return race(effort, {name: partial(program, networks) for name, program in programs.items()}, per=1, unit=1e-6)


def mapped_row(name: str, operation: Any) -> None:
    @row(f"eager vmap, per operation: {name}", "us", budget=0.08, jax=1.0)
    def mapped_operation(effort: Effort) -> Samples:
        """The operation is repeated in a function; the call of `vmap` itself is shared out."""
        rows = np.linspace(0.1, 0.9, 40, dtype=np.float32).reshape(5, 8)
        functions = {k.name: k.vmap(partial(repeated_operation, operation, k)) for k in kits(*MAPPING)}
        check_agreement({name: function(rows) for name, function in functions.items()})
        arguments = {k.name: rows if k.name == "calque" else k.numpy.asarray(rows) for k in kits(*MAPPING)}
        calls = {name: partial(function, arguments[name]) for name, function in functions.items()}
        return race(effort, calls, per=MAPPED_STEPS, unit=1e-6)


for name, operation in MAPPED.items():
    mapped_row(name, operation)


def repeated_operation(operation: Any, kit: Any, x: Any) -> Any:
    for _ in range(MAPPED_STEPS):
        out = operation(kit, x)
    return out


def plain(kit: Any) -> Any:
    """Return the module whose functions a program calls: NumPy itself for ours."""
    return np if kit.name == "calque" else kit.numpy


def race_losses(effort: Effort, loss: Any, params: Any) -> Samples:
    gradients = {k.name: partial(k.grad(partial(loss, plain(k))), params) for k in kits("calque", "autograd")}
    found = {name: gradient() for name, gradient in gradients.items()}
    for part in params if isinstance(params, dict) else [...]:
        check_agreement({name: gradient[part] for name, gradient in found.items()})
    return race(effort, gradients, per=1, unit=1e-6)


def race_hessians(effort: Effort, function: Any, point: np.ndarray) -> Samples:
    hessians = {k.name: partial(k.hessian(partial(function, plain(k))), point) for k in kits(*HESSIANS)}
    check_agreement({name: hessian() for name, hessian in hessians.items()})
    return race(effort, hessians, per=1, unit=1e-6)


def repeated(x: Any, constant: np.ndarray) -> Any:
    for _ in range(CAPTURING_STEPS):
        x = x * constant
    return x


def race_captures(effort: Effort, fun: Any, start: np.ndarray, steps: int) -> Samples:
    gradients = {k.name: partial(k.grad(partial(fun, k.numpy)), start) for k in kits("calque", "autograd")}
    check_agreement({name: gradient() for name, gradient in gradients.items()})
    return race(effort, gradients, per=steps, unit=1e-6)


def race_gradients(effort: Effort, chains: dict) -> Samples:
    gradients = {name: partial(kit.grad(chain), kit.scalar(X)) for name, (kit, chain) in chains.items()}
    check_agreement({name: gradient() for name, gradient in gradients.items()})
    return race(effort, gradients, per=LENGTH, unit=1e-6)
