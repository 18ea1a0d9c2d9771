"""The differences between a call and an earlier call of the same function: why the earlier trace or program is no use.

One idea: a key holds all that a trace depends on, so two keys, compared part by part, give all reasons for a new trace.
Of many earlier calls, the one with the fewest differences explains most.

Read next: `call.py`, which makes keys; `verbs/explain.py`, which shows the differences to the user.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple

from calque_core import ShapedArray
from calque_core.engine import Settings, arg_names, short_repr
from calque_pytree import PyTreeDef
from calque_xla_backend.calls.call import Call, Key, TracedCall

Value = Any


class Difference(NamedTuple):
    """One difference between a call and an earlier call.

    `kind` is 'first call', 'static value', 'structure', 'type', 'shape', 'dtype', 'weak type', 'setting', 'named axes',
    'rules', 'device', 'donated' or 'options'.  `subject` is the path of the argument, as in `params['w']`, or
    the name of the setting; `now` and `before` are texts.
    """

    kind: str
    subject: str
    now: str
    before: str
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def differences(fun: Any, call: Call, avals: Sequence[Any], known: Mapping[Key, TracedCall]) -> list[Difference]:
    """Return the differences of a call from the nearest of the `known` calls, the latest of equally near calls."""
    key = call.key(tuple(avals))
    latest_first = reversed([*known.items()])
    by_call = [list(_between(fun, call, key, earlier, traced.in_tree)) for earlier, traced in latest_first]
    if not by_call:
        return [Difference("first call", "", "", "", "No earlier call of this function is known.")]
    return min(by_call, key=len)


def _between(fun: Any, call: Call, key: Key, earlier: Key, earlier_tree: PyTreeDef) -> Iterator[Difference]:
    statics, tree, avals, settings, axes, varying, epoch = key
    earlier_statics, earlier_tree_key, earlier_avals, earlier_settings, earlier_axes, earlier_varying, earlier_epoch = (
        earlier
    )
    if statics != earlier_statics:
        yield from _static_differences(fun, call, dict(earlier_statics))
    if tree != earlier_tree_key:
        yield from _structure_differences(fun, call, earlier_tree)
    elif avals != earlier_avals:
        for name, aval, before in zip(arg_names(fun, *call.dynamic), avals, earlier_avals):
            if aval != before:
                yield from _type_differences(name, aval, before)
    if settings != earlier_settings:
        yield from _setting_differences(settings, earlier_settings)
    if axes != earlier_axes:
        yield _changed("named axes", "", _axes_text(axes), _axes_text(earlier_axes), "The named axes are")
    if varying != earlier_varying:
        texts = ", ".join(map(repr, varying)) or "none", ", ".join(map(repr, earlier_varying)) or "none"
        yield _changed("checked axes", "", *texts, "The axes over which types say that values vary are")
    if epoch != earlier_epoch:
        sentence = "A rule of a primitive was defined or replaced after that call."
        yield Difference("rules", "", str(epoch), str(earlier_epoch), sentence)


def _changed(kind: str, subject: str, now: str, before: str, words: str) -> Difference:
    """Return a difference whose sentence is '`words` `now`; that call had `before`'."""
    end = "did not pass it" if before == _MISSING else f"had {before}"
    return Difference(kind, subject, now, before, f"{words} {now}; that call {end}.")


_MISSING = "missing"


def _static_differences(fun: Any, call: Call, earlier: dict[Any, Hashable]) -> Iterator[Difference]:
    change = partial(_changed, "static value")
    values = dict(call.statics)
    names = arg_names(fun, (0,) * len(call.dynamic[0]), {})
    for place in {**values, **earlier}:
        name = names[place] if isinstance(place, int) and -len(names) <= place < len(names) else str(place)
        if place not in earlier:
            yield change(name, short_repr(values[place]), _MISSING, f"The static argument {name} is")
        elif place not in values:
            yield change(name, _MISSING, _key_text(earlier[place]), f"The static argument {name} is")
        elif dict(call.static_keys)[place] != earlier[place]:
            now, before = short_repr(values[place]), _key_text(earlier[place])
            if now == before:  # objects without an `==` of their own, say
                before = "a value that prints alike and is not equal to it"
            yield change(name, now, before, f"The static argument {name} is")


def _key_text(key: Any) -> str:
    """Return the static value that a key stands for, as text."""
    kind, value = key[:2]
    if kind in (float, complex):
        return str(value)
    if kind is tuple:
        return f"({', '.join(map(_key_text, value))}{',' * (len(value) == 1)})"
    return short_repr(value) if isinstance(value, kind) else f"another value of type {kind.__name__}"


def _structure_differences(fun: Any, call: Call, earlier: PyTreeDef) -> Iterator[Difference]:
    (args, kwargs), (args_before, kwargs_before) = call.in_tree.children(), earlier.children()
    now, before = args.children(), args_before.children()
    names = arg_names(fun, (0,) * max(len(now), len(before)), {})
    pairs: list[tuple[str, PyTreeDef | None, PyTreeDef | None]]
    pairs = [(name, *trees) for name, trees in zip(names, zip_longest(now, before))]
    named, named_before = _by_name(kwargs), _by_name(kwargs_before)
    pairs += [(name, named.get(name), named_before.get(name)) for name in {**named, **named_before}]
    for name, tree, tree_before in pairs:
        texts = _tree_text(tree), _tree_text(tree_before)
        if tree is None or tree_before is None or tree.key != tree_before.key:
            if texts[0] == texts[1]:
                texts = texts[0], "a structure that prints alike and is not equal to it"
            yield _changed("structure", name, *texts, f"{name} is" if tree is None else f"{name} has the structure")


def _by_name(kwargs: PyTreeDef) -> dict[str, PyTreeDef]:
    data = kwargs.node_data()
    assert data is not None, kwargs
    return dict(zip(data[1], kwargs.children()))


def _tree_text(tree: PyTreeDef | None) -> str:
    return _MISSING if tree is None else tree.show(["*"] * tree.num_leaves)


def _type_differences(name: str, aval: Any, before: Any) -> Iterator[Difference]:
    if not (isinstance(aval, ShapedArray) and isinstance(before, ShapedArray)):
        yield _changed("type", name, str(aval), str(before), f"{name} is")
        return
    if aval.shape != before.shape:
        yield _changed("shape", name, str(aval.shape), str(before.shape), f"{name} has the shape")
    if aval.dtype != before.dtype:
        yield _changed("dtype", name, aval.dtype.name, before.dtype.name, f"{name} has the dtype")
    if aval.weak_type != before.weak_type:
        now, before_now = ("weak", "strong") if aval.weak_type else ("strong", "weak")
        sentence = f"The type of {name} is {_OF_TYPES[now]}; in that call it was {_OF_TYPES[before_now]}."
        yield Difference("weak type", name, now, before_now, sentence)


_OF_TYPES = {"weak": "weak, as that of a Python scalar", "strong": "strong, as that of an array"}


def _setting_differences(settings: Settings, before: Settings) -> Iterator[Difference]:
    for name, value, value_before in zip(Settings._fields, settings, before):
        if value != value_before:
            yield _changed("setting", name, repr(value), repr(value_before), f"The setting {name} is")


def _axes_text(axes: Sequence[tuple[Any, int]]) -> str:
    return ", ".join(f"{name!r} of size {size}" for name, size in axes) or "none"
