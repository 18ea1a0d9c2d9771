"""Multiply matrices that are divided in two directions among eight devices, and count the communication.

Each device holds one block of A, one of B, and computes one of C = A B.  Three programs by hand move different blocks;
in the fourth XLA decides.  The devices are virtual: eight parts of the host's processor.

Run: python examples/matrix_product.py
"""

import numpy as np

import calque
from calque import lax
from calque.sharding import NamedSharding
from calque.sharding import PartitionSpec as P

ROWS, COLUMNS, SIZE = 4, 2, 512
ITEM = 4  # bytes of a float32


def gathered(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Collect the blocks of A in this row of devices, and of B in this column.  Shapes: [m, k], [n, l] -> [m, l]."""
    return lax.all_gather(a, "columns", axis=1, tiled=True) @ lax.all_gather(b, "rows", axis=0, tiled=True)


def scattered(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply columns of A by rows of B, and sum over the devices of a row; each keeps its block of the sum."""
    return lax.psum_scatter(a @ b, "columns", scatter_dimension=1, tiled=True)


def passed_on(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Collect A, and let the blocks of B travel around each column of devices: one at a time needs memory."""
    a = lax.all_gather(a, "columns", axis=1, tiled=True)
    place, height = lax.axis_index("rows"), b.shape[0]
    ring = [(row, (row + 1) % ROWS) for row in range(ROWS)]
    total = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for step in range(ROWS):
        block = lax.dynamic_slice_in_dim(a, (place - step) % ROWS * height, height, axis=1)
        total = total + block @ b
        b = lax.ppermute(b, "rows", ring) if step + 1 < ROWS else b
    return total


def automatic(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a @ b


def main() -> None:
    calque.config.cpu_devices(ROWS * COLUMNS)
    mesh = calque.make_mesh((ROWS, COLUMNS), ("rows", "columns"))
    blocks, by_rows = P("rows", "columns"), P("columns", None)
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((SIZE, SIZE)).astype(np.float32) for _ in range(2))
    row_of_a, column_of_b, block = SIZE * SIZE // ROWS * ITEM, SIZE * SIZE // COLUMNS * ITEM, SIZE * SIZE // 8 * ITEM
    expected = {
        "gathered": {"all-gather": (2, row_of_a + column_of_b)},
        "scattered": {"reduce-scatter": (1, row_of_a)},
        "passed_on": {"all-gather": (1, row_of_a), "collective-permute": (ROWS - 1, (ROWS - 1) * block)},
    }
    for f in (gathered, scattered, passed_on, automatic):
        specs = (blocks, by_rows if f is scattered else blocks)
        shardings = tuple(NamedSharding(mesh, spec) for spec in specs)
        by_hand = f if f is automatic else calque.shard_map(f, mesh=mesh, in_specs=specs, out_specs=blocks)
        program = calque.jit(by_hand, in_shardings=shardings, out_shardings=NamedSharding(mesh, blocks))
        compiled = program.lower(a, b).compile()
        product = program(a, b)
        error = np.max(np.abs(np.asarray(product) - a @ b))
        traffic = {kind: (each.count, each.bytes) for kind, each in compiled.communication().items()}
        print(f"{f.__name__:10} largest error {error:.0e}")
        for kind, (count, size) in traffic.items():
            print(f"    {count} x {kind:18} {size / 1024:6.0f} KiB on each device")
        if error > 1e-3 or product.sharding.spec != blocks or traffic != expected.get(f.__name__, traffic):
            raise SystemExit(f"{f.__name__}: not the product, or other communication than {expected.get(f.__name__)}.")


if __name__ == "__main__":
    main()
