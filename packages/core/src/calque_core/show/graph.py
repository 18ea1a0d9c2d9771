"""Programs as drawings: text for Graphviz.

One idea: a node is an equation, with the text that `print` shows; an edge is a variable, with its type.  Every program
is a cluster, drawn once: an equation points to the programs that it holds.

Read next: `printing.py`, which names the variables; `web.py`, the print as a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from calque_core.jaxprs.arguments import check_is_jaxpr
from calque_core.jaxprs.jaxpr import Atom, Jaxpr, Var, has_jaxpr, jaxprs_in_params
from calque_core.jaxprs.walk import nested_jaxprs
from calque_core.show.naming import Options
from calque_core.show.printing import Printer

_START = ["digraph program {", "  compound=true;", '  node [shape=box, fontname="monospace"];']


def to_dot(jaxpr: Jaxpr) -> str:
    """Return a program as text for Graphviz, with a node for each equation and a cluster for each program inside it.

    Edges have the names and types of variables; a dashed edge leads to a program among the parameters.  A program that
    several equations hold is drawn once.
    Raises: TypeError for a function in place of a program.

    >>> from calque_core import lax, make_jaxpr, to_dot
    >>> print(to_dot(make_jaxpr(lambda x: lax.sin(x) * 2.0)(1.0)))
    digraph program {
      compound=true;
      node [shape=box, fontname="monospace"];
      p0_a0 [label="a:f64[]", shape=ellipse];
      p0_e0 [label="b:f64[] = sin a"];
      p0_a0 -> p0_e0 [label="a:f64[]"];
      p0_e1 [label="c:f64[] = mul b 2.0"];
      p0_e0 -> p0_e1 [label="b:f64[]"];
      p0_out [label="in (c,)", shape=ellipse];
      p0_e1 -> p0_out [label="c:f64[]"];
    }
    """
    check_is_jaxpr("to_dot(jaxpr)", jaxpr)
    return "\n".join([*_START, *_Drawing(jaxpr).lines(), "}"])


class _Drawing:
    """One drawing: the names of variables, and the number of each program."""

    def __init__(self, root: Jaxpr) -> None:
        self.printer = Printer(root, Options())
        self.jaxprs = nested_jaxprs(root)[::-1]
        self.numbers = {id(jaxpr): number for number, jaxpr in enumerate(self.jaxprs)}

    def lines(self) -> Iterator[str]:
        """Yield the lines of all programs; the outermost one has no frame."""
        yield from (f"  {line}" for line in self._program(self.jaxprs[0]))
        for number, jaxpr in enumerate(self.jaxprs[1:], 1):
            yield f"  subgraph cluster_{number} {{"
            yield f"    label={_quoted(jaxpr.debug_name or 'program')};"
            yield from (f"    {line}" for line in self._program(jaxpr))
            yield "  }"
        for jaxpr in self.jaxprs:
            yield from (f"  {line}" for line in self._references(jaxpr))

    def _program(self, jaxpr: Jaxpr) -> Iterator[str]:
        """Yield the nodes and edges of a program, without the programs inside it."""
        prefix, scope = f"p{self.numbers[id(jaxpr)]}", self.printer.scope(jaxpr)
        sources: dict[Var, str] = {}
        for kind, variables in (("c", jaxpr.constvars), ("a", jaxpr.invars)):
            for i, v in enumerate(variables):
                sources[v] = f"{prefix}_{kind}{i}"
                yield f"{sources[v]} [label={self._edge_label(jaxpr, v)}, shape=ellipse];"
        for i, eqn in enumerate(jaxpr.eqns):
            node = f"{prefix}_e{i}"
            yield f"{node} [label={_quoted(self.printer.equation(jaxpr, eqn))}];"
            yield from self._edges(jaxpr, eqn.invars, sources, node)
            sources.update(dict.fromkeys(eqn.outvars, node))
        outs = ", ".join(map(scope.atom, jaxpr.outvars)) + "," * (len(jaxpr.outvars) == 1)
        yield f"{prefix}_out [label={_quoted(f'in ({outs})')}, shape=ellipse];"
        yield from self._edges(jaxpr, jaxpr.outvars, sources, f"{prefix}_out")

    def _edges(self, jaxpr: Jaxpr, atoms: Sequence[Atom], sources: dict[Var, str], node: str) -> Iterator[str]:
        for x in atoms:
            if type(x) is Var:
                yield f"{sources[x]} -> {node} [label={self._edge_label(jaxpr, x)}];"

    def _edge_label(self, jaxpr: Jaxpr, v: Var) -> str:
        return _quoted(f"{self.printer.scope(jaxpr).atom(v)}:{v.aval.str_short()}")

    def _references(self, jaxpr: Jaxpr) -> Iterator[str]:
        """Yield the edges from the equations that hold programs to the results of these programs."""
        for i, eqn in enumerate(jaxpr.eqns):
            for name, value in eqn.params.items() if has_jaxpr(eqn.params) else ():
                for inner in jaxprs_in_params({name: value}):
                    number = self.numbers[id(inner)]
                    ends = f"p{self.numbers[id(jaxpr)]}_e{i} -> p{number}_out"
                    yield f"{ends} [label={_quoted(name)}, lhead=cluster_{number}, style=dashed];"


def _quoted(text: str) -> str:
    r"""Return a text as Graphviz quotes it.

    >>> print(_quoted('say "a\\b"'))
    "say \"a\\b\""
    """
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
