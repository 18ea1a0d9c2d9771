"""Deserializes damaged bytes: `python damage.py FILE KIND SEED COUNT`, in a process that a crash would end.

Prints the number of reads that raised `ExportError`, and the number that returned a function.  Any other error ends the
process.  Damage behind the digest must always be found; with a new digest, the readers of the parts are on their own,
and a change of a name, say, is no damage.
"""

import json
import random
import sys
from pathlib import Path

from calque_xla_backend import ExportError, deserialize
from calque_xla_backend.artefacts.format import seal, unseal

LENGTH = 8  # bytes of an integer in the body


def flipped(data, rng):
    damaged = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def truncated(data, rng):
    return data[: rng.randrange(len(data))]


def extended(data, rng):
    return data + rng.randbytes(rng.randint(1, 100))


def swapped(data, rng):
    i, j, k = sorted(rng.randrange(len(data) + 1) for _ in range(3))
    return data[:i] + data[j:k] + data[i:j] + data[k:]


def overwritten(data, rng):
    start = rng.randrange(len(data))
    size = min(rng.randint(1, 200), len(data) - start)
    return data[:start] + rng.choice([bytes(size), b"\xff" * size, rng.randbytes(size)]) + data[start + size :]


def other_number(data, rng):
    """Replace the version, the length or the length of the header."""
    start, size = rng.choice([(8, 4), (12, 8), (52, 8)])
    value = rng.choice([0, 1, 2, rng.randrange(2 ** (8 * size)), 2 ** (8 * size) - 1])
    return data[:start] + value.to_bytes(size, "little") + data[start + size :]


ANY_DAMAGE = (flipped, truncated, extended, swapped, overwritten, other_number)
VALUES = (None, True, False, 0, -1, 1, 2**63, 10**30, 0.5, "", "x", "float32", "tuple", [], [[]], [None], {}, {"a": 1})


def behind_digest(data, rng):
    return rng.choice(ANY_DAMAGE)(data, rng)


def in_header(data, rng):
    """Change values of the header, and seal the bytes anew."""
    body = unseal(data)
    end = LENGTH + int.from_bytes(body[:LENGTH], "little")
    header = json.loads(body[LENGTH:end])
    for _ in range(rng.randint(1, 3)):
        change_value(header, rng)
    text = json.dumps(header).encode()
    return bytes(seal(len(text).to_bytes(LENGTH, "little") + text + body[end:]))


def change_value(tree, rng):
    """Replace, remove or repeat an item somewhere in a tree of dicts and lists."""
    while True:
        places = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not places:
            return
        place = rng.choice(places)
        if isinstance(tree[place], (dict, list)) and tree[place] and rng.random() < 0.8:
            tree = tree[place]
            continue
        action = rng.randrange(4)
        if action == 0:
            del tree[place]
        elif action == 1 and isinstance(tree, list):
            tree.insert(place, tree[place])
        else:
            tree[place] = rng.choice(VALUES)
        return


def in_body(data, rng):
    """Change any bytes behind the digest, and seal the bytes anew."""
    return bytes(seal(rng.choice(ANY_DAMAGE[:5])(unseal(data), rng)))


KINDS = {"any": behind_digest, "header": in_header, "body": in_body}


def main(path, kind, seed, count):
    data, rng = Path(path).read_bytes(), random.Random(int(seed))
    refused = read = 0
    for _ in range(int(count)):
        damaged = KINDS[kind](data, rng)
        if damaged == data:
            refused += 1
            continue
        try:
            deserialize(damaged)
            read += 1
        except ExportError:
            refused += 1
    print(refused, read)


if __name__ == "__main__":
    main(*sys.argv[1:])
