"""The table's functions with a rule for batches alone: what `vmap` makes of them, and of all their derivatives.

One idea: each function contains an operation that cannot be mapped.  So a program of `vmap` runs only if the rule for
batches, or a derivative of it, stands in for the function at every order.
"""

from __future__ import annotations

from custom_program import MATRIX, VECTOR, Row, off, stretched

from calque_autodiff import checkpoint, deflinear
from calque_batching import custom_vmap, sequential_vmap, vmap
from calque_core import Primitive, lax
from calque_xla_backend import jit, register_lowering

unmappable_p = Primitive("unmappable", linearity="linear")  # the identity
unmappable_p.def_impl(lambda x: x)
unmappable_p.def_abstract_eval(lambda x_aval: x_aval.strip_weak_type())
deflinear(unmappable_p, lambda ct, x: [unmappable_p.bind(ct)])
register_lowering(unmappable_p, lambda ctx, x: [x])


def product(factor):
    f = custom_vmap(lambda x, y: unmappable_p.bind(stretched(factor, lax.sin(x) * y)))

    @f.def_vmap
    def product_of_batches(size, in_batched, x, y):
        x, y = (z if m else lax.broadcast_in_dim(z, (size, 3), (1,)) for z, m in zip((x, y), in_batched))
        return stretched(factor, lax.sin(x) * y), True

    return f


def one_by_one(factor):
    return sequential_vmap(lambda x, y: unmappable_p.bind(stretched(factor, lax.sin(x) * y)))


def of_a_tree(factor):
    """Take and return containers; one result is the same for all elements."""
    f = custom_vmap(lambda p: (unmappable_p.bind(stretched(factor, lax.sin(p["x"]))), {"one": p["x"] * 0.0 + 1.0}))

    @f.def_vmap
    def tree_of_batches(size, in_batched, p):
        one = lax.full((3,), 1.0, p["x"].dtype)
        return (stretched(factor, lax.sin(p["x"])), {"one": one}), (True, {"one": False})

    return lambda x: f({"x": x})[0]


def in_programs(factor):
    """Stand in a loop, a branch, a checkpointed and a compiled function."""
    f = product(factor)

    def fun(x, rows):
        out, _ = lax.scan(lambda carry, row: (lax.cond(True, f, lax.add, carry, row), None), x, rows)
        return checkpoint(f)(x, x), jit(f)(x, x), out

    return fun


def plain_in_programs(factor):
    f = off(lambda x, y: lax.sin(x) * y)(factor)

    def fun(x, rows):
        out = x
        for i in range(4):
            out = f(out, rows[i])
        return f(x, x), f(x, x), out

    return fun


def mapped_inside(factor):
    return vmap(one_by_one(factor))


PRODUCT = off(lambda x, y: lax.sin(x) * y)
BATCHES = [
    Row("custom_vmap", product, PRODUCT, (VECTOR, VECTOR)),
    Row("sequential_vmap", one_by_one, PRODUCT, (VECTOR, VECTOR)),
    Row("custom_vmap of a tree", of_a_tree, off(lax.sin), (VECTOR,)),
    Row("custom_vmap in programs", in_programs, plain_in_programs, (VECTOR, MATRIX), 0),
    Row("sequential_vmap in vmap", mapped_inside, PRODUCT, (MATRIX, MATRIX)),
]
