"""Random numbers from explicit keys: the same key gives the same numbers, traced or not, here and in compiled programs.

`key split fold_in` make keys; every other function makes numbers from a key.  Bits, uniform
numbers, integers and permutations equal the numbers of `jax.random` with its default settings, at equal dtypes.  Normal
numbers agree to 4 units in the last place.

Read next: `threefry.py`, the source of the bits.
"""

from calque_numpy.random.floats import bernoulli, uniform
from calque_numpy.random.gaussian import normal
from calque_numpy.random.integers import randint
from calque_numpy.random.keys import fold_in, key, split
from calque_numpy.random.permutations import permutation
from calque_numpy.random.random_bits import bits

__all__ = ["key", "split", "fold_in", "bits", "uniform", "randint", "normal", "bernoulli", "permutation"]
