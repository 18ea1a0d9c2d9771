"""`with_sharding_constraint`: say inside a function how XLA divides an array.

Read next: `calls/shardings.py`, the shardings of arguments and results.
"""

from __future__ import annotations

from typing import Any

from calque_core import PartitionSpec, api_boundary, evaluation, is_tracer, typeof
from calque_core.engine import check_spec, describe_value, here, leaf_names, named_after
from calque_core.extend import check_arrays, where
from calque_core.lax import sharding_constraint_p
from calque_pytree import flatten_axes, tree_flatten
from calque_xla_backend.calls.shardings import ADVICE
from calque_xla_backend.runtime.array import Array
from calque_xla_backend.runtime.devices import device_put
from calque_xla_backend.runtime.mesh import resolve
from calque_xla_backend.runtime.sharding import SHARDINGS, SingleDeviceSharding
from calque_xla_backend.verbs.jit import jit

Value = Any
Tree = Any


@api_boundary
def with_sharding_constraint(x: Tree, shardings: Tree) -> Tree:
    """Return the arrays of a pytree, on the devices and divided as `shardings` say.

    `shardings` is a sharding, a `PartitionSpec` over the mesh of `config.set_mesh`, or None, which leaves it to XLA; or
    a pytree of these that is a prefix of `x`.  In a compiled function the values stay, and XLA moves their elements
    where needed; derivatives and batches are divided alike.  A `SingleDeviceSharding` there chooses the device of the
    whole program, as `jit(device=)` does.  Outside, it is `device_put`.
    Raises: TypeError for a leaf that is no array or no sharding; ValueError for a spec where no mesh is set, if
    `shardings` is no prefix, or for two devices in a program; ShapeError, with the path and the numbers, for an array
    that does not divide evenly.

    >>> import numpy as np
    >>> from calque_core import Mesh, PartitionSpec as P
    >>> from calque_xla_backend import NamedSharding, devices, jit, with_sharding_constraint
    >>> rows = NamedSharding(Mesh(np.array(devices()[:1]), "data"), P("data"))
    >>> jit(lambda x: with_sharding_constraint(2.0 * x, rows))(np.ones(2))
    Array([2., 2.], dtype=float64)
    """
    caller = f"with_sharding_constraint{where()}"
    leaves, tree = tree_flatten(x)
    names = leaf_names("x", x)
    check_arrays(leaves, lambda: names, caller)
    targets = flatten_axes("the argument shardings of with_sharding_constraint", tree, shardings)
    return tree.unflatten([_constrained(*item) for item in zip(names, leaves, targets, strict=True)])


def _constrained(name: str, x: Value, target: Any) -> Value:
    if not (target is None or isinstance(target, (*SHARDINGS, PartitionSpec))):
        raise TypeError(f"with_sharding_constraint{where()} got {describe_value(target)} for {name}. {ADVICE}.")
    is_known = here().trace is evaluation and not is_tracer(x)
    if isinstance(target, SingleDeviceSharding):
        return device_put(x, target) if is_known else jit(_on_device, device=target.device)(x)
    sharding = resolve(target, "with_sharding_constraint")
    if sharding is None:
        return x
    aval = typeof(x)
    check_spec(f"with_sharding_constraint of {name}, {aval},", aval.shape, sharding.mesh, sharding.spec)
    if is_known and type(x) is not Array:
        return device_put(x, sharding)
    return sharding_constraint_p.bind(x, mesh=sharding.mesh, spec=sharding.spec)


# as messages name it, and the printer of programs
@named_after(with_sharding_constraint)
def _on_device(x: Value) -> Value:
    return x
