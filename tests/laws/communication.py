"""Ten sharded programs in calque and in jax: `python communication.py` prints the communication of both, line by line.

One idea: a program is written once, against the names that both libraries have; XLA's text says what it communicates.
"""

from __future__ import annotations

from types import ModuleType

import jax
import numpy as np

import calque
from calque_xla_backend.runtime.communication import communication_of

COUNT = 8
X = np.arange(64 * 64, dtype=np.float32).reshape(64, 64) / 4096
RING = [(i, (i + 1) % 4) for i in range(4)]


class Programs:
    """The programs of one library."""

    def __init__(self, library: ModuleType) -> None:
        self.library, self.P, self.lax, self.np = library, library.sharding.PartitionSpec, library.lax, library.numpy
        self.mesh = library.sharding.Mesh(np.array(library.devices()).reshape(4, 2), ("i", "j"))

    def divided(self, f, in_specs, out_specs):
        return self.library.shard_map(f, mesh=self.mesh, in_specs=in_specs, out_specs=out_specs)

    def placed(self, *specs):
        return tuple(self.library.sharding.NamedSharding(self.mesh, spec) for spec in specs)

    def sums_along_each_axis(self):
        f = self.divided(
            lambda x: (self.lax.psum(x, "i"), self.lax.pmean(x, "j")),
            self.P("i", "j"),
            (self.P(None, "j"), self.P("i")),
        )
        return self.library.jit(f), (X,)

    def a_sum_of_which_each_keeps_its_part(self):
        def f(x):
            return self.lax.psum_scatter(x, "i", scatter_dimension=0, tiled=True)

        return self.library.jit(self.divided(f, self.P(None, "j"), self.P("i", "j"))), (X,)

    def a_gather_and_an_exchange(self):
        def f(x):
            rows = self.lax.all_gather(x, "j", axis=1, tiled=True)
            return self.lax.all_to_all(rows, "i", 1, 0, tiled=True)

        return self.library.jit(self.divided(f, self.P("i", "j"), self.P("j", "i"))), (X,)

    def exchanges_over_both_axes(self):
        both = ("i", "j")

        def f(x):
            everything = self.lax.all_gather(x, both, axis=0, tiled=True)
            kept = self.lax.psum_scatter(everything, both, scatter_dimension=0, tiled=True)
            return self.lax.all_to_all(kept, both, 1, 0, tiled=True)

        return self.library.jit(self.divided(f, self.P(both), self.P(None, both))), (X,)

    def the_gradient_through_weights_gathered_over_both_axes(self):
        both = ("i", "j")

        def loss(w, x):
            w = self.lax.all_gather(w, both, axis=0, tiled=True)
            return self.lax.psum(self.np.sum((x @ w) ** 2), both)

        total = self.divided(loss, (self.P(both), self.P(both)), self.P())
        return self.library.jit(self.library.grad(total)), (X, X)

    def a_ring_in_a_loop(self):
        def f(x):
            step = lambda carry, _: (self.lax.ppermute(carry, "i", RING), carry.sum())
            return self.lax.scan(step, x, None, length=4)[0]

        return self.library.jit(self.divided(f, self.P("i", "j"), self.P("i", "j"))), (X,)

    def the_gradient_of_a_mean_over_shards(self):
        def loss(w, x):
            return self.lax.pmean(self.np.mean((x @ w) ** 2), ("i", "j"))

        f = self.divided(self.library.grad(loss), (self.P(), self.P(("i", "j"))), self.P())
        return self.library.jit(f), (X, X)

    def the_gradient_of_a_layer_with_a_bias(self):
        def loss(w, b, x):
            return self.lax.pmean(self.np.mean(self.np.tanh(x @ w + b) ** 2), ("i", "j"))

        f = self.divided(self.library.grad(loss, argnums=(0, 1)), (self.P(), self.P(), self.P(("i", "j"))), self.P())
        return self.library.jit(f), (X, X[0], X)

    def the_gradient_through_gathered_weights(self):
        def loss(w, x):
            w = self.lax.all_gather(w, "i", axis=0, tiled=True)
            return self.lax.psum(self.np.sum((x @ w) ** 2), ("i", "j"))

        total = self.divided(loss, (self.P("i"), self.P(("i", "j"))), self.P())
        return self.library.jit(self.library.grad(total)), (X, X)

    def the_gradient_of_a_product_by_a_scattered_sum(self):
        def product(a, b):
            return self.lax.psum_scatter(a @ b, "j", scatter_dimension=1, tiled=True)

        f = self.divided(product, (self.P("i", "j"), self.P("j")), self.P("i", "j"))
        return self.library.jit(self.library.grad(lambda a, b: self.np.sum(f(a, b) ** 2), argnums=(0, 1))), (X, X)

    def a_mean_by_pmap(self):
        f = self.library.pmap(lambda x: x - self.lax.pmean(x, "k"), axis_name="k")
        return self.library.jit(f), (X[:8],)

    def a_batch_under_vmap(self):
        f = self.divided(lambda x: self.lax.psum(x, "i") * x, self.P("i"), self.P("i"))
        return self.library.jit(self.library.vmap(f)), (X.reshape(4, 16, 64),)

    def automatic_data_parallel_gradient(self):
        def loss(w, x):
            return self.np.mean(self.np.tanh(x @ w) ** 2)

        weights, batch = self.placed(self.P(), self.P(("i", "j")))
        return self.library.jit(self.library.grad(loss), in_shardings=(weights, batch), out_shardings=weights), (X, X)

    def automatic_product_in_two_directions(self):
        blocks = self.placed(self.P("i", "j"))[0]
        f = self.library.jit(lambda a, b: a @ b, in_shardings=(blocks, blocks), out_shardings=blocks)
        return f, (X, X)


NAMES = [name for name, value in vars(Programs).items() if callable(value) and name[0] != "_"][2:]


def main() -> None:
    calque.config.cpu_devices(COUNT)
    jax.config.update("jax_num_cpu_devices", COUNT)
    for name in NAMES:
        traffic = {}
        for library in (calque, jax):
            f, args = getattr(Programs(library), name)()
            text = f.lower(*args).compile().as_text()
            traffic[library.__name__] = {
                kind: (each.count, each.bytes) for kind, each in communication_of(text).items()
            }
        print(repr((name, traffic["calque"], traffic["jax"])), flush=True)


if __name__ == "__main__":
    main()
