"""Programs as text for Graphviz: balanced, with each edge between nodes that exist."""

from __future__ import annotations

import re

import numpy as np
import pytest

from calque_core import count_eqns, lax, make_jaxpr, to_dot

STRING = r'"(?:[^"\\]|\\.)*"'


def loop(x):
    return lax.while_loop(lambda v: v[0] < 3.0, lambda v: (v[0] + 1.0, lax.sin(v[1])), (x, x))


def branches(x):
    return lax.cond(x > 0, lambda y: lax.cond(y > 1, lax.sin, lax.cos, y), lambda y: 2.0, x)


PROGRAMS = [lambda x: lax.sin(x) * 2.0, lambda x: (x, 1.0, x), loop, branches, lambda x: np.ones(3) * x]


def parts(text):
    """Return the nodes, the edges and the clusters of a drawing, with strings replaced by nothing."""
    bare = re.sub(STRING, "", text)
    nodes = re.findall(r"^ *(\w+) \[label=", bare, re.MULTILINE)
    return nodes, re.findall(r"(\w+) -> (\w+) ", bare), re.findall(r"subgraph (\w+)", bare), bare


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_drawing_is_balanced_and_its_edges_have_ends(program):
    jaxpr = make_jaxpr(program)(1.0)
    nodes, edges, clusters, bare = parts(to_dot(jaxpr))
    for left, right in ("{}", "[]"):
        assert bare.count(left) == bare.count(right)
    assert '"' not in bare
    assert len(set(nodes)) == len(nodes)
    assert {end for edge in edges for end in edge} <= set(nodes)
    assert set(re.findall(r"lhead=(\w+)", bare)) == set(clusters)
    assert sum("_e" in node for node in nodes) == count_eqns(jaxpr)


def test_edges_have_types_and_programs_are_clusters():
    text = to_dot(make_jaxpr(branches)(1.0))
    assert '[label="a:f64[]"]' in text
    assert len(parts(text)[2]) == 4
    assert text.count('[label="branches", lhead=') == 4


def test_a_program_with_two_holders_is_drawn_once():
    inner = make_jaxpr(lax.sin)(1.0)
    call = lambda x: lax.jit_p.bind(x, jaxpr=inner, name="inner", compiler=None)[0]
    _, edges, clusters, _ = parts(to_dot(make_jaxpr(lambda x: call(call(x)))(1.0)))
    assert len(clusters) == 1
    assert [edge for edge in edges if edge[1] == "p1_out" and edge[0][:2] == "p0"] == [
        ("p0_e0", "p1_out"),
        ("p0_e1", "p1_out"),
    ]


def test_quotes_in_parameters_are_escaped():
    text = to_dot(make_jaxpr(lambda x: lax.composite(lambda y: lax.sin(y), name='a"b\\')(x))(1.0))
    _, _, _, bare = parts(text)
    assert '"' not in bare
    assert 'a\\"b' in text


def test_a_function_is_refused():
    with pytest.raises(TypeError, match=r"to_dot got the function .* as its jaxpr.* Trace it first"):
        to_dot(lax.sin)
