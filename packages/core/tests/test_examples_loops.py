"""The printed examples of branches and loops, each under its id, in the 32-bit regime.

| id | claim | differs from the document in |
| --- | --- | --- |
| J-4 | `switch` clamps its index and holds a branch for each function | nothing |
| J-5 | `cond` holds the false branch first | no `linear` parameter |
| J-6 | a pair as operand; a constant of one branch is an operand of both | no `linear` parameter |
| J-7 | a `fori_loop` whose bound is traced is a `while` | nothing |
| J-8 | a `scan` with a constant, a carry and two inputs | see below |

Python scalars are weakly typed as arguments and literals alone.  So in J-8 no conversions are needed within the step,
whose carry is strong from the start: the document converts carry and constant to the strong type there.
"""

import numpy as np
import pytest

from calque_core import check_jaxpr, config, eval_jaxpr, lax, make_jaxpr, typeof
from calque_core.lax import cond, fori_loop, scan, switch
from calque_pytree import tree_leaves

ARRAY = np.ones(16)

J4 = """\
{ lambda ; a:i32[] b:f32[]. let
    c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] a
    d:i32[] = clamp 0 c 2
    e:f32[] = cond[
      branches=(
        { lambda ; f:f32[]. let g:f32[] = add f 1.0 in (g,) }
        { lambda ; h:f32[]. let i:f32[] = sub h 2.0 in (i,) }
        { lambda ; j:f32[]. let k:f32[] = add j 3.0 in (k,) }
      )
    ] d b
  in (e,) }"""

J5 = """\
{ lambda ; a:f32[]. let
    b:bool[] = ge a 0.0
    c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] b
    d:f32[] = cond[
      branches=(
        { lambda ; e:f32[]. let f:f32[] = sub e 3.0 in (f,) }
        { lambda ; g:f32[]. let h:f32[] = add g 3.0 in (h,) }
      )
    ] c a
  in (d,) }"""

J6 = """\
{ lambda a:i32[1]; b:f32[] c:f32[1] d:f32[]. let
    e:bool[] = ge b 0.0
    f:i32[] = convert_element_type[new_dtype=int32 weak_type=False] e
    g:f32[1] = cond[
      branches=(
        { lambda ; h:i32[1] i:f32[1] j:f32[]. let
            k:f32[1] = convert_element_type[new_dtype=float32 weak_type=False] h
            l:f32[1] = add k j
          in (l,) }
        { lambda ; m:i32[1] n:f32[1] o:f32[]. let  in (n,) }
      )
    ] f a c d
  in (g,) }"""

J7 = """\
{ lambda ; a:f32[16] b:i32[]. let
    c:f32[16] = broadcast_in_dim[broadcast_dimensions=() shape=(16,)] 1.0
    d:f32[16] = add a c
    _:i32[] _:i32[] e:f32[16] = while[
      body_jaxpr={ lambda ; f:f32[16] g:f32[16] h:i32[] i:i32[] j:f32[16]. let
          k:i32[] = add h 1
          l:f32[16] = mul f 3.0
          m:f32[16] = add j l
          n:f32[16] = add m g
        in (k, i, n) }
      body_nconsts=2
      cond_jaxpr={ lambda ; o:i32[] p:i32[] q:f32[16]. let
          r:bool[] = lt o p
        in (r,) }
      cond_nconsts=0
    ] c a 0 b d
  in (e,) }"""

J8 = """\
{ lambda ; a:f32[16] b:f32[]. let
    c:f32[16] = broadcast_in_dim[broadcast_dimensions=() shape=(16,)] 1.0
    d:f32[] e:f32[16] = scan[
      jaxpr={ lambda ; f:f32[] g:f32[] h:f32[] i:f32[]. let
          j:f32[] = mul h i
          k:f32[] = add g j
          l:f32[] = add k f
        in (l, g) }
      length=16
      num_carry=1
      num_consts=1
      reverse=False
      unroll=1
    ] b 0.0 a c
  in (d, e) }"""


def one_of_three(index, arg):
    return switch(index, [lambda x: x + 1.0, lambda x: x - 2.0, lambda x: x + 3.0], arg)


def by_sign(arg):
    return cond(arg >= 0.0, lambda x: x + 3.0, lambda x: x - 3.0, arg)


def of_a_pair(arg1, arg2):
    return cond(arg1 >= 0.0, lambda true: true[0], lambda false: np.array([1]) + false[1], arg2)


def counted(arg, n):
    ones = lax.full_like(arg, 1.0)
    return fori_loop(0, n, lambda i, carry: carry + ones * 3.0 + arg, arg + ones)


def scanned(arr, extra):
    ones = lax.full_like(arr, 1.0)

    def body(carry, elements):
        first, second = elements
        return carry + first * second + extra, carry

    return scan(body, 0.0, (arr, ones))


EXAMPLES = {
    "J-4": (one_of_three, (1, 5.0), J4, [3.0]),
    "J-5": (by_sign, (5.0,), J5, [8.0]),
    "J-6": (of_a_pair, (5.0, (np.zeros(1), 2.0)), J6, [[0.0]]),
    "J-7": (counted, (ARRAY, 5), J7, [[22.0] * 16]),
    "J-8": (scanned, (ARRAY, 5.0), J8, [96.0, [6.0 * i for i in range(16)]]),
}


@pytest.mark.parametrize(("fun", "args", "text", "want"), EXAMPLES.values(), ids=EXAMPLES)
def test_J_4_to_8_are_printed_as_documented(fun, args, text, want):
    with config.enable_x64(False):
        jaxpr = make_jaxpr(fun)(*args)
        check_jaxpr(jaxpr)
        assert str(jaxpr) == text


@pytest.mark.parametrize(("fun", "args", "text", "want"), EXAMPLES.values(), ids=EXAMPLES)
def test_J_4_to_8_give_the_numbers(fun, args, text, want):
    with config.enable_x64(False):
        jaxpr = make_jaxpr(fun)(*args)
        for outs in (tree_leaves(fun(*args)), eval_jaxpr(jaxpr, jaxpr.consts, *tree_leaves(args))):
            assert [np.asarray(x).tolist() for x in outs] == want
            assert {typeof(x).dtype for x in outs} == {np.dtype(np.float32)}


def test_J_4_clamps_its_index():
    assert [one_of_three(i, 5.0) for i in (-1, 0, 1, 2, 3)] == [6.0, 6.0, 3.0, 8.0, 8.0]


def test_J_7_is_evaluated_outside_of_the_block_of_32_bits_where_it_was_traced():
    with config.enable_x64(False):
        jaxpr = make_jaxpr(counted)(ARRAY, 5)

    (out,) = eval_jaxpr(jaxpr, jaxpr.consts, ARRAY.astype(np.float32), 5)
    assert (out.tolist(), out.dtype) == ([22.0] * 16, np.float32)


@pytest.mark.parametrize("n", [5, np.int32(5), np.int64(5)])
def test_a_loop_with_a_traced_bound_counts_in_32_bits_in_a_block_of_a_traced_function(n):
    def in_block(n):
        with config.enable_x64(False):
            return fori_loop(0, n, lambda i, carry: carry + i, np.int32(0))

    jaxpr = make_jaxpr(in_block)(n)
    check_jaxpr(jaxpr)
    (out,) = eval_jaxpr(jaxpr, jaxpr.consts, n)
    assert (out, typeof(out)) == (10, typeof(np.int32(10)))


def test_J_7_with_a_known_bound_is_a_scan():
    with config.enable_x64(False):
        jaxpr = make_jaxpr(lambda arg: counted(arg, 5))(ARRAY)

    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["broadcast_in_dim", "add", "scan"]
