"""The bytes of an exported function.

    size     content
    8        the magic bytes
    4        the version of this format
    8        the length of all that follows the digest
    32       SHA-256 of the 20 bytes above and of all that follows
    8        the length of the header
    ..       the header: JSON
    ..       the parts: the module, the constants, the exported derivative; their lengths and digests are in the header

Integers are unsigned and little-endian, and so are the elements of constants.  One idea: every length, type and name is
checked when it is read, and anything wrong is an `ExportError`.  The digests find damage, and keep damaged bytes from
jaxlib's reader of modules, which can crash.  They prove no origin: who can change the bytes can compute them again.  So
deserialize bytes of people whom you trust, as you run their programs.

Read next: `trees.py` for structures; `exported.py`, the object that users have.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_core import ShapedArray
from calque_core.engine import SHORT_DTYPES, short_dtype, traced_type
from calque_pytree import PyTreeDef
from calque_xla_backend.artefacts.errors import ExportError, damaged
from calque_xla_backend.artefacts.trees import tree_from_items, tree_to_items

MAGIC = b"\x93calque\n"
FORMAT_VERSION = 1
CALLING_CONVENTION = 1  # `main` takes the constants, then the leaves of `(args, kwargs)`
MAX_VJP_ORDER = 8

_PREFIX = struct.Struct("<8sIQ")
_LENGTH = struct.Struct("<Q")
_DIGEST_SIZE = hashlib.sha256().digest_size
_PLAIN_DTYPES = ("bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)))
_DTYPES = frozenset((*_PLAIN_DTYPES, "float16", "float32", "float64", "complex64", "complex128", *SHORT_DTYPES))
_MAX_SIZE, _MAX_RANK = 2**63 - 1, 64  # NumPy's limits


class Contents(NamedTuple):
    """All that the bytes hold.  `derivative` is an exported function too, in bytes."""

    fun_name: str
    platform: str
    versions: dict[str, str]
    enable_x64: bool
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    positions: tuple[str, ...]
    parameters: tuple[str, ...]
    names: tuple[str, ...]
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    constants: tuple[Any, ...]
    module: bytes
    derivative: bytes = b""

    @property
    def constant_avals(self) -> list[ShapedArray]:
        """The types of the constants."""
        return [traced_type(x.shape, x.dtype) for x in self.constants]


# To bytes


def encode(contents: Contents) -> bytearray:
    """Return the bytes of an exported function.  Raises: ExportError for a type or a structure without a name."""
    subject = f"export of {contents.fun_name}: the"
    parts = [contents.module, *[np.ascontiguousarray(x).tobytes() for x in contents.constants], contents.derivative]
    header = {
        "fun_name": contents.fun_name,
        "platform": contents.platform,
        "versions": contents.versions,
        "calling_convention": CALLING_CONVENTION,
        "enable_x64": contents.enable_x64,
        "in_tree": tree_to_items(contents.in_tree, f"{subject} arguments"),
        "out_tree": tree_to_items(contents.out_tree, f"{subject} results"),
        "positions": contents.positions,
        "parameters": contents.parameters,
        "names": contents.names,
        "in_types": [_type(aval) for aval in contents.in_avals],
        "out_types": [_type(aval) for aval in contents.out_avals],
        "constant_types": [[x.dtype.name, x.shape, False] for x in contents.constants],
        "parts": [[len(part), _digest(part)] for part in parts],
    }
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    return seal(b"".join([_LENGTH.pack(len(text)), text, *parts]))


def seal(body: bytes) -> bytearray:
    """Return `body` behind the magic bytes, the version, its length and the digest."""
    prefix = _PREFIX.pack(MAGIC, FORMAT_VERSION, len(body))
    return bytearray(prefix + hashlib.sha256(prefix + body).digest() + body)


def _type(aval: Any) -> tuple[str, tuple[int, ...], bool]:
    if aval.dtype.name not in _DTYPES:
        raise ExportError(f"a value of type {aval} cannot be exported. Convert it to a dtype of numbers.")
    return aval.dtype.name, aval.shape, aval.weak_type


# From bytes


def decode(data: bytes) -> Contents:
    """Return the contents of the bytes.  Raises: ExportError for bytes that `encode` did not make."""
    body = unseal(data)
    header, end = _header(body)
    if _field(header, "calling_convention", int) != CALLING_CONVENTION:
        raise ExportError(
            "the exported function has a calling convention that this release does not know. Update calque."
        )
    constant_avals = _avals(header, "constant_types")
    parts = _parts(body[end:], _list(header, "parts", list))
    if len(parts) != len(constant_avals) + 2:
        raise damaged("it has a wrong number of parts")
    module, *constants, derivative = parts
    contents = Contents(
        fun_name=_field(header, "fun_name", str),
        platform=_field(header, "platform", str),
        versions=_versions(header),
        enable_x64=_field(header, "enable_x64", bool),
        in_tree=tree_from_items(header.get("in_tree")),
        out_tree=tree_from_items(header.get("out_tree")),
        positions=tuple(_list(header, "positions", str)),
        parameters=tuple(_list(header, "parameters", str)),
        names=tuple(_list(header, "names", str)),
        in_avals=_avals(header, "in_types"),
        out_avals=_avals(header, "out_types"),
        constants=tuple(map(_constant, constants, constant_avals)),
        module=module,
        derivative=derivative,
    )
    _check_counts(contents)
    return contents


def unseal(data: bytes) -> bytes:
    """Return the bytes behind the digest.  Raises: ExportError if anything before them does not fit."""
    start = _PREFIX.size + _DIGEST_SIZE
    if len(data) < start:
        raise damaged(f"{len(data)} bytes are too few")
    magic, version, length = _PREFIX.unpack_from(data)
    if magic != MAGIC:
        raise damaged("they do not begin with its magic bytes")
    if version != FORMAT_VERSION:
        raise ExportError(
            f"the exported function has format {version}; this release reads {FORMAT_VERSION}. Update calque."
        )
    if length != len(data) - start:
        raise damaged(f"{len(data) - start} bytes follow its digest instead of {length}")
    digest = hashlib.sha256(data[: _PREFIX.size] + data[start:]).digest()
    if digest != data[_PREFIX.size : start]:
        raise damaged("its digest differs")
    return data[start:]


def _header(body: bytes) -> tuple[dict[str, Any], int]:
    """Return the header, and where the blobs start."""
    if len(body) < _LENGTH.size:
        raise damaged("it has no header")
    (length,) = _LENGTH.unpack_from(body)
    end = _LENGTH.size + length
    try:
        header = json.loads(body[_LENGTH.size : end].decode())
    except (ValueError, RecursionError) as error:
        raise damaged("its header is no JSON") from error
    if end > len(body) or not isinstance(header, dict):
        raise damaged("its header has a wrong form")
    return header, end


def _parts(data: bytes, entries: Sequence[list[Any]]) -> list[bytes]:
    """Return the parts in `data`, whose lengths and digests are in the header."""
    parts, start = [], 0
    for entry in entries:
        match entry:
            case [int(length), str(digest)] if type(length) is int and 0 <= length <= len(data) - start:
                part = data[start : start + length]
            case _:
                raise damaged("the length of a part does not fit")
        if _digest(part) != digest:
            raise damaged("the digest of a part differs")
        parts.append(part)
        start += length
    if start != len(data):
        raise damaged("bytes follow its last part")
    return parts


def _digest(part: bytes) -> str:
    return hashlib.sha256(part).hexdigest()


def _field(header: dict[str, Any], name: str, kind: type) -> Any:
    value = header.get(name)
    if type(value) is not kind:
        raise damaged(f"the field {name!r} of its header is no {kind.__name__}")
    return value


def _list(header: dict[str, Any], name: str, kind: type) -> list[Any]:
    items: list[Any] = _field(header, name, list)
    if any(type(item) is not kind for item in items):
        raise damaged(f"the field {name!r} of its header has an item that is no {kind.__name__}")
    return items


def _versions(header: dict[str, Any]) -> dict[str, str]:
    versions: dict[str, str] = _field(header, "versions", dict)
    if any(type(version) is not str for version in versions.values()):
        raise damaged("a version is no text")
    return versions


def _avals(header: dict[str, Any], name: str) -> tuple[ShapedArray, ...]:
    return tuple([_aval(item, name) for item in _list(header, name, list)])


def _aval(item: list[Any], name: str) -> ShapedArray:
    match item:
        case [str(dtype), list(shape), bool(weak)] if dtype in _DTYPES:
            is_shape = len(shape) <= _MAX_RANK and all(type(n) is int and 0 <= n <= _MAX_SIZE for n in shape)
            if is_shape and math.prod(shape) <= _MAX_SIZE:
                return traced_type(tuple(shape), dtype_of(dtype), weak)
    raise damaged(f"an item of {name!r} is no type")


def dtype_of(name: str) -> np.dtype[Any]:
    """Return the dtype of a name.  Raises: ExportError if no package that defines it is installed."""
    try:
        return np.dtype(short_dtype(name, "calque_xla_backend") if name in SHORT_DTYPES else name)
    except AttributeError as error:
        raise ExportError(str(error)) from None


def _constant(data: bytes, aval: ShapedArray) -> np.ndarray[Any, Any]:
    if len(data) != math.prod(aval.shape) * aval.dtype.itemsize:
        raise damaged("a constant has a wrong size")
    return np.frombuffer(data, aval.dtype).reshape(aval.shape)


def _check_counts(contents: Contents) -> None:
    """Check that structures, names and types have the same number of leaves."""
    sides = contents.in_tree.children()
    if len(sides) != 2 or any(_class(side) is not kind for side, kind in zip(sides, (tuple, dict))):
        raise damaged("its arguments are no pair of a tuple and a dict")
    counts = (contents.in_tree.num_leaves, len(contents.names), len(contents.in_avals))
    if len(set(counts)) != 1 or len(contents.positions) != len(sides[0].children()):
        raise damaged("its arguments have different numbers of types and names")
    if contents.out_tree.num_leaves != len(contents.out_avals):
        raise damaged("its results have different numbers of types and leaves")


def _class(tree: PyTreeDef) -> type | None:
    data = tree.node_data()
    return None if data is None else data[0]
