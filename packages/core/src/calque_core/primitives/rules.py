"""Rule tables: for each kind of rule, a mapping from primitives to functions.

One idea: a table has a name, `rules("jvp")`, and a rule is stored on its primitive.  So the author of a primitive
defines every rule with core alone, before or after the import of the package that reads the table, or without it.

The machinery sees lists only: `rule_results.py` adapts a rule once, and the table keeps the author's function beside
the adapted one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from typing import Any

from calque_core.context import here
from calque_core.epoch import advance_rule_epoch, rule_epoch
from calque_core.errors import MissingRuleError, similar_name
from calque_core.frames.source import Position, resolve, user_frame, where
from calque_core.primitives.families import (
    declare_column,
    declaring_module,
    general_kind,
    import_column,
    import_family,
    import_rules_to_change,
    is_family_module,
)
from calque_core.primitives.rule_results import adapt
from calque_core.record import Record

Function = Callable[..., Any]
Kind = str | tuple[str, str]

primitives: weakref.WeakSet[Any] = weakref.WeakSet()


class Rule(Record):
    """A rule: the author's function, the adapted function, and the place of its definition."""

    function: Function
    adapted: Function
    position: Position | None
    module: str  # the module whose body defines it


class KindInfo(Record):
    """Texts for the error about a missing rule of a kind: the message, the package that reads it, the registration."""

    message: str
    package: str
    registration: str


kinds: dict[str, KindInfo] = {
    "impl": KindInfo("Evaluation rule for '{name}' not implemented", "calque_core", "{name}_p.def_impl(fn)"),
    "abstract_eval": KindInfo(
        "Abstract evaluation for '{name}' not implemented", "calque_core", "{name}_p.def_abstract_eval(fn)"
    ),
    "jvp": KindInfo(
        "Differentiation rule for '{name}' not implemented", "calque_autodiff", "calque_autodiff.defjvp({name}_p, ...)"
    ),
    "partial_eval": KindInfo(
        "Partial evaluation rule for '{name}' not implemented",
        "calque_autodiff",
        '{name}_p.def_rule("partial_eval", fn)',
    ),
    "transpose": KindInfo(
        "Transpose rule (for reverse-mode differentiation) for '{name}' not implemented",
        "calque_autodiff",
        "calque_autodiff.deftranspose({name}_p, fn)",
    ),
    "every_size": KindInfo(
        "Code of '{name}' for all sizes not given", "calque_autodiff", '{name}_p.def_rule("every_size", fn)'
    ),
    "jet": KindInfo("Taylor rule for '{name}' not implemented", "calque_jet", '{name}_p.def_rule("jet", fn)'),
    "batch": KindInfo(
        "Batching rule for '{name}' not implemented", "calque_batching", "calque_batching.defbatch({name}_p, fn)"
    ),
    "axis_batch": KindInfo(
        "Batching rule for '{name}' not implemented", "calque_batching", '{name}_p.def_rule("axis_batch", fn)'
    ),
    "lowering": KindInfo(
        "MLIR translation rule for primitive '{name}' not found for platform {platform}",
        "calque_xla_backend",
        "calque_xla_backend.register_lowering({name}_p, fn, platform='{platform}')",
    ),
    "dce": KindInfo("Dead code rule for '{name}' not implemented", "calque_core", '{name}_p.def_rule("dce", fn)'),
    "decomposition": KindInfo(
        "Decomposition of '{name}' not given", "calque_core", '{name}_p.def_rule("decomposition", fn)'
    ),
    "lower_values": KindInfo(
        "Rule of '{name}' for the arrays of values of own types not given",
        "calque_core",
        '{name}_p.def_rule("lower_values", fn)',
    ),
    "means": KindInfo(
        "The program that '{name}' means not given", "calque_core", "calque_core.extend.means({name}_p, parameter)"
    ),
    "value": KindInfo(
        "Rule of '{name}' for the values of a transformation not implemented",
        "calque_core.ValueTrace",
        '{name}_p.def_rule("value", fn)',
    ),
    "effects": KindInfo(
        "The effects of '{name}' for parameters not given", "calque_core", '{name}_p.def_rule("effects", fn)'
    ),
    "where_active": KindInfo(
        "Rule of '{name}' for a batch with inactive elements not implemented",
        "calque_batching",
        '{name}_p.def_rule("where_active", fn)',
    ),
    "vma": KindInfo(
        "The axes along which the results of '{name}' vary not given", "calque_core", '{name}_p.def_rule("vma", fn)'
    ),
    "lockstep": KindInfo(
        "Evaluation of '{name}' at all positions of a mesh not implemented",
        "calque_core.shard_map",
        '{name}_p.def_rule("lockstep", fn)',
    ),
    "pp": KindInfo("Printing rule for '{name}' not given", "calque_core", "{name}_p.def_pp(fn)"),
}


def info_of(kind: str) -> KindInfo:
    """Return the texts of a kind; an unknown kind is registered."""
    info = kinds.get(kind)
    if info is None:
        registration = f'{{name}}_p.def_rule("{kind}", fn)'
        message = f"Rule '{kind}' for '{{name}}' not implemented"
        info = kinds[kind] = KindInfo(message, "its transformation", registration)
    return info


def rules_by_family(
    package: str, kinds: Iterable[str], *, of: str = "calque_core.ops", reader: str | None = None
) -> None:
    """Declare that a package has rules of some kinds for the primitives of the package `of`, by default core's.

    A primitive that the module `of.signal.fft` declares has its rules in the module `package.signal.fft`, which is
    imported at the first look-up of a rule for it; where there is no such module, there are no rules.  `reader` is the
    package that reads the rules, if their modules import it; where it is not installed, there are no rules.

    >>> from calque_core import rules
    >>> from calque_core.extend import rules_by_family
    >>> rules_by_family("my_package.rules", kinds=["spectrum"])
    >>> from calque_core.lax import sin_p
    >>> sin_p in rules("spectrum")  # my_package has no rules for it
    False
    """
    kinds = list(kinds)
    declare_column(package, of, kinds, reader)
    for primitive in list(primitives):
        for kind in [
            kind for kind in primitive.adapted if general_kind(kind) in kinds and primitive.adapted[kind] is None
        ]:
            primitive.adapted.drop(kind)  # the answer of a look-up before this call


def settings_key() -> tuple[Any, ...]:
    """Return the settings, named axes and rule epoch: part of the key of every cache of derived programs.

    >>> from calque_core import config
    >>> from calque_core.extend import settings_key
    >>> with config.enable_x64(False):
    ...     key_of_32_bits = settings_key()
    >>> settings_key() == settings_key(), settings_key() == key_of_32_bits
    (True, False)
    """
    context = here()
    return (context.settings, context.axis_env, context.varying_axes, rule_epoch())


class RuleTable(MutableMapping[Any, Function]):
    """All rules of one kind, as a mapping from primitive to the author's function.

    Assignment replaces a rule; `Primitive.def_rule` refuses to replace one.

    >>> from calque_core import rules
    >>> rules("jvp").kind
    'jvp'
    """

    __slots__ = ("kind",)

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def __getitem__(self, primitive: Any) -> Function:
        primitive.adapted[self.kind]  # the first look-up imports the rules; to ask for the import took 5 us in a trace
        rule: Rule = primitive._rules[self.kind]
        return rule.function

    def __setitem__(self, primitive: Any, function: Function) -> None:
        store(primitive, self.kind, function, override=True)

    def __delitem__(self, primitive: Any) -> None:
        import_rules_to_change(primitive.family, self.kind, declaring_module())
        del primitive._rules[self.kind]
        primitive.adapted.drop(self.kind)
        primitive.refresh(self.kind)
        advance_rule_epoch()

    def __iter__(self) -> Iterator[Any]:
        import_column(self.kind)
        return iter(sorted((p for p in primitives if self.kind in p._rules), key=lambda p: str(p.name)))

    def __len__(self) -> int:
        import_column(self.kind)
        return sum(self.kind in p._rules for p in primitives)

    def __repr__(self) -> str:
        return f"RuleTable({self.kind!r}, {len(self)} primitives)"


def rules(kind: str, *, platform: str | None = None) -> RuleTable:
    """Return the table of rules of one kind.  The call registers a new kind.

    >>> from calque_core import rules
    >>> rules("my_transform")
    RuleTable('my_transform', 0 primitives)
    """
    info_of(kind)
    return RuleTable(kind if platform is None else (kind, platform))


def store(primitive: Any, kind: Kind, function: Function, *, override: bool = False) -> None:
    """Adapt a rule and put it on its primitive; refuse a second one without `override`.

    Raises: TypeError if `function` is not callable; ValueError, with both places, if there is a rule already.
    """
    if not callable(function):
        raise TypeError(f"the {kind} rule of '{primitive.name}' is {function!r}. Give a function.")
    declaring = declaring_module()
    is_late = is_family_module(declaring)
    import_rules_to_change(primitive.family, kind, declaring)
    adapted = adapt(primitive.name, kind, function, primitive.multiple_results)
    new = Rule(function, adapted, *((_position_of(function), declaring) if is_late else _origin(function, declaring)))
    old: Rule | None = primitive._rules.get(kind)
    repeated = new.module if is_late else "__main__"  # an import after an interrupt, or a cell of a notebook
    if old is not None and not override and old.module != repeated:
        raise ValueError(
            f"'{primitive.name}' has a rule for {_kind_name(kind)!r} from {_place(old)}, and {_place(new)} gives "
            f"another. To replace it, use def_rule({_kind_arguments(kind, 'fn')}, override=True), or del "
            f"calque_core.rules({_kind_arguments(kind)})[primitive] first."
        )
    if not is_late and _replaces_a_used_rule(primitive, kind):  # nobody has used a late rule
        advance_rule_epoch()
    primitive._rules[kind] = new
    primitive.adapted.put(kind, adapted, declaring)
    primitive.refresh(kind)
    primitive._holes.pop(kind, None)


_SHADOWED = {"axis_batch": "batch"}  # a rule of the first kind is used in place of the second


def _replaces_a_used_rule(primitive: Any, kind: Kind) -> bool:
    """Tell whether a new rule of this kind replaces one that traced programs may have used.

    A rule of another kind, such as a decomposition, was used in its place only after a look-up of this kind.
    """
    general, stored = general_kind(kind), primitive._rules.keys()
    if kind in stored:
        return True
    was_asked = kind in primitive.adapted or general == "impl"  # evaluation asks an attribute
    return was_asked and not stored.isdisjoint((general, _SHADOWED.get(general), "decomposition"))


def _origin(function: Function, declaring: str) -> tuple[Position | None, str]:
    """Return the position and the module of the definition of a user's rule; `declaring` is the innermost module."""
    frame = user_frame()
    if frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        return (frame.f_code, frame.f_lasti), frame.f_globals.get("__name__", "")
    return _position_of(function), declaring


def _position_of(function: Function) -> Position | None:
    code = getattr(function, "__code__", None)
    return None if code is None else (code, 0)


def _place(rule: Rule) -> str:
    return str(resolve(rule.position) or rule.module or repr(rule.function))


def missing_rule(primitive: Any, kind: str, platform: str | None = None) -> MissingRuleError:
    """Return the error for a missing rule: its message says how to register one, its notes what the primitive has.

    >>> from calque_core import Primitive
    >>> from calque_core.extend import missing_rule
    >>> print(str(missing_rule(Primitive("cube"), "batch")).splitlines()[0])
    Batching rule for 'cube' not implemented
    """
    info = info_of(kind)
    import_family(primitive.family)  # the notes list all rules
    message = info.message.format(name=primitive.name, platform=platform)
    registration = info.registration.format(name=primitive.name, platform=platform)
    remedies = [f"There is none because {primitive.holes[kind]}."] if kind in primitive.holes else []
    remedies.append(f"{info.package} reads this rule; register one with {registration}.")
    unread = {name: similar_name(name, kinds) for name in map(general_kind, primitive._rules) if name not in kinds}
    misspelt = [(name, similar) for name, similar in unread.items() if similar]
    remedies += [f"Nothing reads the kind {name!r}: did you mean {similar!r}?" for name, similar in misspelt]
    error = MissingRuleError(
        f"{message}\n{' '.join(remedies)}",
        primitive=primitive.name,
        kind=kind,
        package=info.package,
        platform=platform,
    )
    error.hole = primitive.holes.get(kind, "")
    place = error.place = where()
    if place:
        error.add_note(f"'{primitive.name}' was bound{place}.")
    error.add_note(
        f"Rules that '{primitive.name}' has: {', '.join(sorted(map(_kind_name, primitive._rules))) or 'none'}."
    )
    for name in [name for name, similar in unread.items() if not similar]:
        error.add_note(f"Nothing reads the kind {name!r}.")
    return error


def _kind_arguments(kind: Kind, *arguments: str) -> str:
    """Return the arguments that name a kind of rule, with `arguments` after it: "'lowering', fn, platform='cpu'"."""
    name, platform = (kind, []) if isinstance(kind, str) else (kind[0], [f"platform={kind[1]!r}"])
    return ", ".join([repr(name), *arguments, *platform])


def _kind_name(kind: Kind) -> str:
    return kind if isinstance(kind, str) else f"{kind[0]} ({kind[1]})"
