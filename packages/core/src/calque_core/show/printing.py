"""Printing jaxprs, as `{ lambda constvars ; invars. let eqns in (outs,) }`.

One idea: an equation or a program that fits on a line of 80 columns stands on one line; a longer one is broken at its
parameters, then at its equations.  The first step names variables in the order of reading and makes one-line forms;
the second arranges lines and blocks.  Both steps are generators that yield generators, so that nesting costs no stack.

Read next: `naming.py` for names and values, `layout.py` for rows, `printing_autodidax.py` for the other style.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from calque_core.frames.source import Position
from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn, Var
from calque_core.show.layout import WIDTH, Row, flatten_rows, page
from calque_core.show.naming import Options, Scope, effects_text, fresh_names, param_text, shared_names, shown_params
from calque_core.show.printing_autodidax import autodidax_rows

STYLES = ("jax", "autodidax")


def pretty_print(
    jaxpr: Jaxpr,
    source_info: bool = False,
    name_stack: bool = False,
    print_shapes: bool = True,
    style: Literal["jax", "autodidax"] = "jax",
    print_effects: bool = False,
    print_literal_types: bool = False,
) -> str:
    """Return a jaxpr as text.

    `source_info` adds the user's file and line to each equation, `name_stack` the scopes of `named_scope`; then each
    equation stands on its own line.  A jaxpr that several equations hold is printed once, with a name; the style
    "autodidax" prints it each time.
    Raises: ValueError if there is no such style.

    >>> from calque_core.types.avals import ShapedArray
    >>> from calque_core.lax import mul, sin
    >>> from calque_core.staging.stage import stage
    >>> jaxpr = stage(lambda x: [mul(sin(x), 2.0)], [ShapedArray((3,), "float32")])
    >>> print(pretty_print(jaxpr))
    { lambda ; a:f32[3]. let b:f32[3] = sin a; c:f32[3] = mul b 2.0 in (c,) }
    >>> print(pretty_print(jaxpr, style="autodidax"))
    { lambda a:float32[3] .
      let b:float32[3] = sin a
          c:float32[3] = mul b 2.0
      in ( c ) }
    """
    options = Options(source_info, name_stack, print_shapes, print_effects, print_literal_types)
    comments = {"source_info": source_info, "name_stack": name_stack}
    if style == "jax":
        return page(flatten_rows(Printer(jaxpr, options).rows()), wrap=True, **comments)
    if style == "autodidax":
        return page(flatten_rows(autodidax_rows(jaxpr, options)), wrap=False, **comments)
    raise ValueError(f"there is no style {style!r}. Use one of {', '.join(map(repr, STYLES))}.")


class Block:
    """A program to be printed: its first and last words, its equations, and its one-line form if that is short."""

    __slots__ = ("flat", "head", "jaxpr", "lines", "tail")

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr
        self.head = self.tail = ""
        self.lines: list[Line] = []
        self.flat: str | None = None

    def flatten(self) -> None:
        """Make the one-line form, after all lines."""
        flats = [line.flat for line in self.lines if line.flat is not None]
        if len(flats) == len(self.lines) and len(self.head) + len(self.tail) + sum(map(len, flats)) <= WIDTH:
            self.flat = f"{self.head} {'; '.join(flats)} {self.tail}"


Param = str | Block | list[str | Block]  # the printed form of a parameter


class Line:
    """An equation to be printed, `start[params]end`."""

    __slots__ = ("end", "flat", "params", "position", "start")

    def __init__(self, start: str, params: list[tuple[str, Param]], end: str, position: Position | None) -> None:
        self.start, self.params, self.end, self.position = start, params, end, position
        self.flat: str | None = None

    def blocks(self) -> Iterator[Block]:
        """Yield the programs among the parameters."""
        for _, value in self.params:
            yield from (v for v in (value if isinstance(value, list) else [value]) if isinstance(v, Block))

    def flatten(self) -> None:
        """Make the one-line form; the blocks have their one-line forms already."""
        if not self.params:
            self.flat = self.start + self.end
        elif all(block.flat is not None for block in self.blocks()):
            self.flat = f"{self.start}[{' '.join(f'{name}={_flat(v)}' for name, v in self.params)}]{self.end}"


def _flat(value: Param | None) -> str:
    if isinstance(value, list):
        return f"({' '.join(map(_flat, value))})"
    return str(value.flat if isinstance(value, Block) else value)


class Printer:
    """One print of a program in the default style: the names of variables, and the blocks to arrange."""

    def __init__(self, root: Jaxpr, options: Options) -> None:
        shared = shared_names(root)
        self.options = options
        self.shared = {key: name for key, (name, _) in shared.items()}
        self.fresh = fresh_names(set(self.shared.values()))
        self.scopes: dict[int, Scope] = {}
        self.definitions = [(name, Block(jaxpr)) for name, jaxpr in shared.values()]
        self.main = Block(root)
        for block in (*(block for _, block in self.definitions), self.main):
            for _ in flatten_rows(self._fill(block)):
                raise AssertionError("filling a block yields blocks only")

    def rows(self) -> Iterator[Any]:
        """Yield the rows of the print, and generators of rows."""
        for name, block in self.definitions:
            yield _block_rows(block, f"let {name} = ", " in", 0)
        yield _block_rows(self.main, "", "", 0)

    def scope(self, jaxpr: Jaxpr) -> Scope:
        """Return the names of the variables of a jaxpr of this print."""
        if id(jaxpr) not in self.scopes:
            self.scopes[id(jaxpr)] = Scope(jaxpr, self.fresh, self.options, drops=True)
        return self.scopes[id(jaxpr)]

    def _fill(self, block: Block) -> Iterator[Any]:
        """Name the variables of a program and make its lines; yield such generators for the programs inside it."""
        jaxpr, scope = block.jaxpr, self.scope(block.jaxpr)
        consts, args = ([self._binder(scope.atom(v), v) for v in vs] for vs in (jaxpr.constvars, jaxpr.invars))
        block.head = f"{{ lambda {' '.join(consts)}; {' '.join(args)}. let"
        for eqn in jaxpr.eqns:
            line = Line(self._start(eqn, scope), self._params(eqn), scope.operands(eqn), eqn.position)
            for inner in line.blocks():
                yield self._fill(inner)
            line.flatten()
            block.lines.append(line)
        outs = ", ".join(map(scope.atom, jaxpr.outvars)) + "," * (len(jaxpr.outvars) == 1)
        block.tail = f"in ({outs}){effects_text(jaxpr) if self.options.print_effects else ''} }}"
        if not ((self.options.source_info or self.options.name_stack) and block.lines):
            block.flatten()

    def _binder(self, name: str, v: Var) -> str:
        return f"{name}:{v.aval.str_short()}" if self.options.print_shapes else name

    def _start(self, eqn: JaxprEqn, scope: Scope) -> str:
        results = [self._binder(scope.result(v), v) for v in eqn.outvars]
        return f"{' '.join(results)} = {eqn.primitive.name}" if results else str(eqn.primitive.name)

    def _params(self, eqn: JaxprEqn) -> list[tuple[str, Param]]:
        return [(name, self._param(value)) for name, value in shown_params(eqn)] if eqn.params else []

    def _param(self, value: Any) -> Param:
        if type(value) is Jaxpr:
            return self._program(value)
        if type(value) in (tuple, list) and any(type(v) is Jaxpr for v in value):
            return [self._program(v) if type(v) is Jaxpr else param_text(v) for v in value]
        return param_text(value)

    def _program(self, jaxpr: Jaxpr) -> str | Block:
        return self.shared.get(id(jaxpr)) or Block(jaxpr)

    def equation(self, jaxpr: Jaxpr, eqn: JaxprEqn) -> str:
        """Return the printed form of an equation of `jaxpr`, with `...` for programs among its parameters."""
        scope = self.scope(jaxpr)
        params = " ".join(f"{name}={value if isinstance(value, str) else '...'}" for name, value in self._params(eqn))
        return self._start(eqn, scope) + (f"[{params}]" if params else "") + scope.operands(eqn)


def _block_rows(block: Block, before: str, after: str, indent: int) -> Iterator[Any]:
    """Yield the rows of a program; `before` is added to the first row, `after` to the last."""
    if block.flat is not None and indent + len(before) + len(block.flat) + len(after) <= WIDTH:
        yield Row(indent, before + block.flat + after)
        return
    yield Row(indent, before + block.head)
    for line in block.lines:
        if line.flat is not None and (not line.params or indent + 4 + len(line.flat) <= WIDTH):
            yield Row(indent + 4, line.flat, line.position)
        else:
            yield _line_rows(line, indent + 4)
    yield Row(indent + 2, block.tail + after)


def _line_rows(line: Line, indent: int) -> Iterator[Any]:
    """Yield the rows of an equation that is broken at its parameters."""
    yield Row(indent, f"{line.start}[", line.position)
    for name, value in line.params:
        yield _value_rows(f"{name}=", value, indent + 2)
    yield Row(indent, f"]{line.end}")


def _value_rows(before: str, value: Param, indent: int) -> Iterator[Any]:
    if isinstance(value, Block):
        yield _block_rows(value, before, "", indent)
    elif isinstance(value, str):
        yield Row(indent, before + value)
    else:
        yield Row(indent, f"{before}(")
        for item in value:
            yield _value_rows("", item, indent + 2)
        yield Row(indent, ")")
