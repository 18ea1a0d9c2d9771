"""The printed parameters of equations as values.

One idea: a parameter is printed by its `repr`, dtypes and strings by name; the parameter's name tells which one a word
is.  What the text lacks, such as the elements of an array, is refused.

Read next: `parsing.py`, which reads programs; `show/naming.py`, which prints parameters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from calque_core.meshes.partition_spec import PartitionSpec
from calque_core.saved import named
from calque_core.saved.values import built, read_dtype, read_type

_CONSTANTS = {
    "None": None, "True": True, "False": False, "nan": math.nan, "inf": math.inf, "-inf": -math.inf,
}  # fmt: skip
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)(?![\w.])")
_STRING = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))")
_ENUM = re.compile(r"<(\w+)\.(\w+): [^<>]*>|(\w+)\.(\w+)")
_TYPE = re.compile(r"~?[a-z]\w*\[[\d,]*\](?:\{V:[^{}]*\})?")
_WORD = re.compile(r"[A-Za-z_]\w*")
_LAYOUT = re.compile(r"[NC0-7]+,[OI0-7]+->[NC0-7]+")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def parameter(name: str, text: str) -> Any:
    """Return the value of a parameter from its printed form.  Raises: ValueError for a form that lacks the value.

    >>> parameter("axes", "(0, 1)"), parameter("new_dtype", "int8"), parameter("name", "f")
    ((0, 1), dtype('int8'), 'f')
    """
    if name == "name":
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    named_so = next((read for pattern, read in _BY_NAME if re.search(pattern, name)), None)
    if named_so is not None:
        return named_so(text)
    if _LAYOUT.fullmatch(text):
        return layout(text)
    words = Words(text)
    if not words.is_literal():
        return text  # a string is printed without quotes
    return words.whole()


def read_member(kind: str, name: str) -> Any:
    """Return the member of an enumeration.  Raises: ValueError."""
    members = named.named(kind, named.ENUMS).__members__
    if name not in members:
        raise ValueError(f"{kind} has no member {name!r}. Use one of {', '.join(members)}.")
    return members[name]


def layout(text: str) -> Any:
    """Return the layout of a convolution from words such as `NC01,OI01->NC01`.  Raises: ValueError."""
    specs = []
    for word, letters in zip(re.split(",|->", text), ("NC", "OI", "NC")):
        axes = f"{letters}{''.join(map(str, range(len(word) - 2)))}"
        if sorted(axes) != sorted(word):
            raise ValueError(f"{word} is no layout of {len(word)} axes. Write the letters {axes} in some order.")
        specs.append(tuple(map(word.index, axes)))
    return named.named("ConvDimensionNumbers", named.RECORDS)(*specs)


class Words:
    """A printed value, and how much of it has been read."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0

    def is_literal(self) -> bool:
        """Tell whether the text begins as values do that are no strings."""
        if self.text[:1] in "([{" or _NUMBER.fullmatch(self.text) or _TYPE.fullmatch(self.text):
            return True
        return _ENUM.fullmatch(self.text) is not None or re.match(r"[A-Za-z_]\w*\(", self.text) is not None

    def take(self, pattern: re.Pattern[str] | str) -> Any:
        """Return the match of a pattern at this place, behind white space, or None."""
        self.place += len(self.text[self.place :]) - len(self.text[self.place :].lstrip())
        match = re.compile(pattern).match(self.text, self.place)
        if match is not None:
            self.place = match.end()
        return match

    def whole(self) -> Any:
        """Return the value, with nothing behind it."""
        value = self.value()
        if self.take(r"\Z") is None:
            raise self.error()
        return value

    def error(self) -> ValueError:
        """Return the error about this place."""
        rest = self.text[self.place : self.place + 30]
        return ValueError(f"{rest!r} is no value of a parameter. Write it as `print` shows it.")

    def value(self) -> Any:
        """Return the value at this place."""
        for pattern, read in _FORMS:
            match = self.take(pattern)
            if match is not None:
                return read(self, match)
        raise self.error()

    def items(self, end: str, read: Callable[[], Any]) -> list[Any]:
        """Return values between commas, until a bracket."""
        values: list[Any] = []
        while not self.take(end):
            if values and not self.take(","):
                raise self.error()
            if self.take(end):  # behind the comma of a tuple of one item
                break
            values.append(read())
        return values

    def call(self, name: str) -> Any:
        """Return a record, a mesh or a spec from its printed call."""
        if name == "frozenset":
            self.take(r"\{")
            values = frozenset(self.items(r"\}|(?=\))", self.value))
            self.take(r"\)")
            return values
        arguments = self.items(r"\)", self.argument)
        if name == "PartitionSpec":
            return built(lambda: PartitionSpec(*[value for _, value in arguments]))
        if name == "slice":
            return slice(*[value for _, value in arguments])
        if name == "AbstractMesh":
            sizes, names = [value for _, value in arguments], [key for key, _ in arguments]
            return built(lambda: named.named(name, named.RECORDS)(sizes, names))
        kind = named.named(name, named.RECORDS)
        return built(lambda: kind(**dict(arguments)))

    def argument(self) -> tuple[Any, Any]:
        """Return one argument of a call with its name: `axis=0`, `'i': 2`, or a value alone."""
        match = self.take(r"(\w+)=")
        if match is not None:
            return match[1], self.value()
        value = self.value()
        return (value, self.value()) if self.take(":") else (None, value)

    def word(self, word: str) -> Any:
        """Return a constant, a dtype or a program of ours by its name."""
        return _CONSTANTS[word] if word in _CONSTANTS else read_dtype(word)


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _string(match: Any) -> str:
    body: str = match[1] if match[1] is not None else match[2]
    return _ESCAPE.sub(_escaped, body)


def _escaped(match: Any) -> str:
    code = match[1] or match[2] or match[3]
    return chr(int(code, 16)) if code else _ESCAPES.get(match[4], match[4])


_FORMS: list[tuple[re.Pattern[str], Callable[[Words, Any], Any]]] = [
    (_NUMBER, lambda words, match: _number(match[0])),
    (_STRING, lambda words, match: _string(match)),
    (re.compile(r"\("), lambda words, match: tuple(words.items(r"\)", words.value))),
    (re.compile(r"\["), lambda words, match: words.items(r"\]", words.value)),
    (_TYPE, lambda words, match: read_type(match[0])),
    (re.compile(r"(\w+)\("), lambda words, match: words.call(match[1])),
    (_ENUM, lambda words, match: read_member(match[1] or match[3], match[2] or match[4])),
    (_WORD, lambda words, match: words.word(match[0])),
]

# Parameters whose words have a meaning of their own, by their name.
_BY_NAME: list[tuple[str, Callable[[str], Any]]] = [
    (r"dtype|element_type$", read_dtype),
    (r"_prim$", named.find_primitive),
    (r"^fft_type$", lambda text: read_member("FftType", text)),
    (r"^policy$", lambda text: named.named(text, named.FUNCTIONS)),
]
