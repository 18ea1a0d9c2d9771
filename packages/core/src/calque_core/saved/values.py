"""Values as plain data: the parameters, literals, constants and types of a program.

One idea: None, bools, integers, finite floats and strings stand for themselves; every other value is a dict of one
entry, whose key says how to read it, {"tuple": [..]}, {"dtype": "float32"}.  Arrays are the bytes of their elements,
the lowest byte first, in base64.

Read next: `named.py`, for the classes that may be named; `writing.py` and `reading.py`, for programs.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from calque_core.meshes.partition_spec import PartitionSpec
from calque_core.primitives.primitive import Primitive
from calque_core.saved import named
from calque_core.traces.tracer import Tracer
from calque_core.types.avals import ShapedArray, is_array_like, traced_type
from calque_core.types.dtypes import SHORT_DTYPES, as_dtype, dtype_name, float0, is_supported

Data = Any
Value = Any


class UnwritableError(Exception):
    """A value that cannot be stored, as a noun phrase: the message that names its place quotes it."""


Inner = Callable[[Any], Any]  # programs and rules, in a value and in data

_TYPE = re.compile(r"(~?)([a-z]\w{0,30})\[((?:\d{1,19}(?:,\d{1,19}){0,63})?)\](?:\{V:\(?([^(){}]+)\)?\})?", re.ASCII)
_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def no_inner(_: Any) -> None:
    """Stand for the function of programs and rules where there are none."""


# Types


def write_type(aval: Any) -> str:
    """Return a type as messages spell it.  Raises: UnwritableError for a type of another class.

    >>> write_type(ShapedArray((2, 3), "float32")), write_type(ShapedArray((), "float64", weak_type=True))
    ('float32[2,3]', '~float64[]')
    """
    text = str(aval)
    if type(aval) is not ShapedArray or read_type(text) is not aval:
        raise UnwritableError(f"the type {aval!r} of class {type(aval).__name__}")
    return text


def read_type(text: Data) -> ShapedArray:
    """Return the type that a text spells.  Raises: ValueError.

    >>> read_type("~float64[]").weak_type
    True
    """
    match = _TYPE.fullmatch(text) if type(text) is str else None
    if match is None:
        raise ValueError(f"{_short(text)} is no type. Write a type like 'float32[2,3]'.")
    weak, dtype, sizes, axes = match.groups()
    shape = tuple(map(int, sizes.split(","))) if sizes else ()
    aval = traced_type(shape, read_dtype(dtype), bool(weak))
    return aval.varying(axes.split(",")) if axes else aval


# NumPy itself knows other spellings, and warns of some of them.
_DTYPES = [np.dtype(code) for code in np.typecodes["All"]]
_DTYPE_NAMES = {"float0", *(dtype_name(dtype) for dtype in _DTYPES if dtype.kind in "biufc")}


def read_dtype(name: Data) -> np.dtype[Any]:
    """Return the dtype of a name.  Raises: ValueError.

    >>> read_dtype("int8")
    dtype('int8')
    """
    if type(name) is not str or (name not in _DTYPE_NAMES and name not in SHORT_DTYPES):
        raise ValueError(f"{_short(name)} is no dtype. Write a name like 'float32'.")
    try:
        return float0 if name == "float0" else as_dtype(name)
    except TypeError as error:  # the package that defines the dtype is not installed
        raise ValueError(str(error)) from None


# From values to data


def write_value(x: Value, inner: Inner) -> Data:
    """Return a value as data; `inner` does it for programs and rules, and gives None for other values.

    Raises: UnwritableError.

    >>> write_value((1, np.dtype("float32"), slice(None)), no_inner)
    {'tuple': [1, {'dtype': 'float32'}, {'slice': [None, None, None]}]}
    """
    kind = type(x)
    if x is None or kind in (bool, int, str):
        return x
    if kind is float:
        return x if math.isfinite(x) else {"float": str(x)}
    write = _WRITERS.get(kind)
    if write is not None:
        return write(x, inner)
    if isinstance(x, np.dtype):
        return {"dtype": dtype_name(x)}
    if isinstance(x, Tracer):
        raise UnwritableError("a traced value")
    data = inner(x) or _write_named(x, inner)
    if data is None and is_array_like(x):
        data = write_array(np.asarray(x))
    if data is None:
        raise UnwritableError(describe(x))
    return data


def describe(x: Any) -> str:
    """Return a noun phrase for a value that cannot be stored.

    >>> describe(len)
    'a Python function, len'
    """
    if callable(x) and hasattr(x, "__name__"):
        return f"a Python function, {x.__name__}"
    return f"an object of class {type(x).__name__}, {_short(x)}"


def write_array(x: np.ndarray[Any, Any]) -> Data:
    """Return an array as data; an array that NumPy's scalars stand for becomes an array of rank 0.

    >>> write_array(np.array([1, 2], np.int16))
    {'array': ['int16[2]', 'AQACAA==']}
    """
    if not is_supported(x.dtype):
        raise UnwritableError(f"an array of dtype {x.dtype}")
    little = x.astype(x.dtype.newbyteorder("<")) if x.dtype.kind in "iufc" else x
    sizes = ",".join(map(str, x.shape))
    return {"array": [f"{dtype_name(x.dtype)}[{sizes}]", base64.b64encode(little.tobytes()).decode()]}


def _write_scalar(x: np.generic, _: Inner) -> Data:
    return {"scalar": write_array(np.asarray(x))["array"]}


def _write_named(x: Value, inner: Inner) -> Data:
    kind = type(x)
    if isinstance(x, np.generic):
        return _write_scalar(x, inner)
    if isinstance(x, Enum) and named.is_named(kind, named.ENUMS):
        return {"enum": [kind.__name__, x.name]}
    if named.is_named(kind, named.RECORDS):
        fields = {name: write_value(getattr(x, name), inner) for name in named.fields_of(kind)}
        return {"record": [kind.__name__, fields]}
    if named.is_named(x, named.FUNCTIONS):
        return {"function": x.__name__}
    if named.is_named(kind, named.COMPILERS) and x is named.default_compiler():
        return {"compiler": kind.__name__}
    return None


def _write_items(tag: str) -> Callable[[Any, Inner], Data]:
    return lambda x, inner: {tag: [write_value(item, inner) for item in x]}


def _write_set(x: frozenset[Any], inner: Inner) -> Data:
    if not all(type(item) is str for item in x):
        raise UnwritableError("a set of items that are no strings")
    return {"frozenset": sorted(x)}


def _write_dict(x: dict[Any, Any], inner: Inner) -> Data:
    return {"dict": [[write_value(key, inner), write_value(value, inner)] for key, value in x.items()]}


_WRITERS: dict[type, Callable[[Any, Inner], Data]] = {
    tuple: _write_items("tuple"),
    list: _write_items("list"),
    dict: _write_dict,
    frozenset: _write_set,
    complex: lambda x, inner: {"complex": [write_value(x.real, inner), write_value(x.imag, inner)]},
    slice: lambda x, inner: {"slice": [write_value(part, inner) for part in (x.start, x.stop, x.step)]},
    ShapedArray: lambda x, _: {"type": write_type(x)},
    Primitive: lambda x, _: {"primitive": [x.name, x.family]},
    PartitionSpec: lambda x, inner: {"spec": [write_value(entry, inner) for entry in x.entries]},
    np.ndarray: lambda x, _: write_array(x),
}


# From data to values


def read_value(data: Data, inner: Inner) -> Value:
    """Return the value of data; `inner` does it for programs and rules, and gives None for other keys.

    Raises: ValueError, whose message is a sentence and advice.

    >>> read_value({"tuple": [1, {"dtype": "float32"}]}, no_inner)
    (1, dtype('float32'))
    """
    if data is None or type(data) in (bool, int, float, str):
        return data
    if type(data) is not dict or len(data) != 1:
        raise ValueError(f"{_short(data)} is no value. Write a number, a string, or a dict of one entry.")
    [(tag, content)] = data.items()
    value = inner(data)
    if value is not None:
        return value
    read = _READERS.get(tag) if type(tag) is str else None
    if read is None:
        raise ValueError(f"there is no kind of values {_short(tag)}. Use one of {', '.join(_READERS)}.")
    return read(content, inner)


def _list(content: Data, length: int | None = None) -> list[Data]:
    if type(content) is not list or length not in (None, len(content)):
        raise ValueError(f"{_short(content)} is no list{f' of {length} items' if length else ''}. Write one.")
    return content


def _read_items(content: Data, inner: Inner) -> list[Value]:
    return [read_value(item, inner) for item in _list(content)]


def _read_float(content: Data, _: Inner) -> float:
    if type(content) is not str or content not in _NUMBERS:
        raise ValueError(f"{_short(content)} is none of {', '.join(_NUMBERS)}. Write a finite float as a number.")
    return _NUMBERS[content]


def _read_complex(content: Data, inner: Inner) -> complex:
    real, imag = [read_value(part, inner) for part in _list(content, 2)]
    if type(real) is not float or type(imag) is not float:
        raise ValueError(f"{_short(content)} are no two floats. Write the real and the imaginary part.")
    return complex(real, imag)


def _read_slice(content: Data, inner: Inner) -> slice:
    return slice(*[read_value(part, inner) for part in _list(content, 3)])


def _read_set(content: Data, _: Inner) -> frozenset[str]:
    if not all(type(item) is str for item in _list(content)):
        raise ValueError(f"{_short(content)} has items that are no strings. Write strings.")
    return frozenset(content)


def _read_dict(content: Data, inner: Inner) -> dict[Any, Any]:
    pairs = [_list(pair, 2) for pair in _list(content)]
    return {_hashable(read_value(key, inner)): read_value(value, inner) for key, value in pairs}


def _hashable(key: Value) -> Value:
    if key is not None and type(key) not in (bool, int, float, str):
        raise ValueError(f"{_short(key)} is no key. Write a string or a number.")
    return key


def read_array(content: Data) -> np.ndarray[Any, Any]:
    """Return the array of a type and of bytes in base64.  Raises: ValueError."""
    text, encoded = _list(content, 2)
    aval = read_type(text)
    try:
        data = base64.b64decode(encoded, validate=True) if type(encoded) is str else b""
    except (binascii.Error, ValueError):
        raise ValueError(f"{_short(encoded)} is not in base64. Read the program from the file again.") from None
    count = aval.size * aval.dtype.itemsize
    if len(data) != count or type(encoded) is not str:
        raise ValueError(f"{len(data)} bytes are no array {aval}, which has {count}. Read the program again.")
    if aval.dtype == float0:
        return np.zeros(aval.shape, float0)
    little = aval.dtype.newbyteorder("<") if aval.dtype.kind in "iufc" else aval.dtype
    array = np.frombuffer(bytearray(data), little).reshape(aval.shape).astype(aval.dtype, copy=False)
    if aval.dtype == bool and array.size and array.view(np.uint8).max() > 1:
        raise ValueError(f"the bytes of the array {aval} are no bools. Read the program again.")
    return array


def _read_scalar(content: Data, _: Inner) -> Value:
    array = read_array(content)
    if array.ndim:
        raise ValueError("an array with axes is no scalar. Write the type without sizes.")
    return array[()]


def _read_enum(content: Data, _: Inner) -> Value:
    name, member = _list(content, 2)
    kind = named.named(name, named.ENUMS)
    if type(member) is not str or member not in kind.__members__:
        raise ValueError(f"{name} has no member {_short(member)}. Use one of {', '.join(kind.__members__)}.")
    return kind[member]


def _read_record(content: Data, inner: Inner) -> Value:
    name, fields = _list(content, 2)
    kind = named.named(name, named.RECORDS)
    if type(fields) is not dict or set(fields) != set(named.fields_of(kind)):
        raise ValueError(f"{name} has the fields {', '.join(named.fields_of(kind))}. Write each of them.")
    values = {field: read_value(value, inner) for field, value in fields.items()}
    return built(lambda: kind(**values))


def built(make: Callable[[], Value]) -> Value:
    """Return `make()`, a record of ours, whose constructor may refuse its fields.  Raises: ValueError."""
    try:
        value = make()
        hash(value)
    except (TypeError, AttributeError) as error:
        raise ValueError(str(error)) from error
    return value


def _read_primitive(content: Data, _: Inner) -> Primitive:
    return named.find_primitive(*_list(content, 2))


def _read_compiler(content: Data, _: Inner) -> Value:
    named.named(content, named.COMPILERS)
    return named.default_compiler()


_READERS: dict[str, Callable[[Data, Inner], Value]] = {
    "tuple": lambda content, inner: tuple(_read_items(content, inner)),
    "list": _read_items,
    "dict": _read_dict,
    "frozenset": _read_set,
    "float": _read_float,
    "complex": _read_complex,
    "slice": _read_slice,
    "dtype": lambda content, _: read_dtype(content),
    "type": lambda content, _: read_type(content),
    "array": lambda content, _: read_array(content),
    "scalar": _read_scalar,
    "enum": _read_enum,
    "record": _read_record,
    "function": lambda content, _: named.named(content, named.FUNCTIONS),
    "compiler": _read_compiler,
    "primitive": _read_primitive,
    "spec": lambda content, inner: built(lambda: PartitionSpec(*_read_items(content, inner))),
}


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 40 else f"{text[:37]}..."
