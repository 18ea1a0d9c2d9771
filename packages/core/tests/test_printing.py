import numpy as np
import pytest

from calque_core import Jaxpr, JaxprEqn, Primitive, ShapedArray, Var, config, lax, make_jaxpr
from calque_core.show.printing import pretty_print

F64 = ShapedArray((), "float64")


def call(fun, *args, name="inner", jaxpr=None):
    """Bind `jit` on `fun` traced for these arguments, as a compiler's front end would."""
    jaxpr = make_jaxpr(fun)(*args) if jaxpr is None else jaxpr
    (out,) = lax.jit_p.bind(*args, jaxpr=jaxpr, name=name, compiler=None)
    return out


def func1(first, second):
    temp = first + np.sin(second) * 3.0
    return lax.reduce_sum(temp, (0,))


def func2(first, second):
    def inner(x):
        if second.shape[0] > 4:
            return np.sin(x) * 3.0
        raise AssertionError(second)

    return lax.reduce_sum(first + inner(second), (0,))


def func3(pair):
    return func1(*pair)


J1 = """\
{ lambda ; a:f32[8] b:f32[8]. let
    c:f32[8] = sin b
    d:f32[8] = mul c 3.0
    e:f32[8] = add a d
    f:f32[] = reduce_sum[axes=(0,)] e
  in (f,) }"""


@pytest.mark.parametrize(("fun", "args"), [(func1, 2), (func2, 2), (func3, 1)])
def test_a_straight_program_prints_one_equation_per_line(fun, args):  # J-1, J-2, J-3
    arrays = np.zeros(8), np.ones(8)
    with config.enable_x64(False):
        assert str(make_jaxpr(fun)(*(arrays if args == 2 else (arrays,)))) == J1


def test_branches_print_as_a_block():  # J-5, and the layout of J-4
    with config.enable_x64(False):
        jaxpr = make_jaxpr(lambda x: lax.cond(x >= 0.0, lambda y: y + 3.0, lambda y: y - 3.0, x))(5.0)
    assert str(jaxpr) == (
        "{ lambda ; a:f32[]. let\n"
        "    b:bool[] = ge a 0.0\n"
        "    c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] b\n"
        "    d:f32[] = cond[\n"
        "      branches=(\n"
        "        { lambda ; e:f32[]. let f:f32[] = sub e 3.0 in (f,) }\n"
        "        { lambda ; g:f32[]. let h:f32[] = add g 3.0 in (h,) }\n"
        "      )\n"
        "    ] c a\n"
        "  in (d,) }"
    )


def test_a_nested_program_prints_below_its_parameter_with_names_of_its_own():  # the layout of J-9
    def fun(arg):
        return arg + call(lambda x, y: x + y * lax.broadcast(1.0, (1,)), arg - 2.0, arg)

    with config.enable_x64(False):
        jaxpr = make_jaxpr(fun)(1.0)
    assert str(jaxpr) == (
        "{ lambda ; a:f32[]. let\n"
        "    b:f32[] = sub a 2.0\n"
        "    c:f32[1] = jit[\n"
        "      name=inner\n"
        "      jaxpr={ lambda ; d:f32[] e:f32[]. let\n"
        "          f:f32[1] = broadcast_in_dim[broadcast_dimensions=() shape=(1,)] 1.0\n"
        "          g:f32[1] = mul e f\n"
        "          h:f32[1] = add d g\n"
        "        in (h,) }\n"
        "    ] b a\n"
        "    i:f32[1] = add a c\n"
        "  in (i,) }"
    )


def test_a_short_nested_program_prints_on_one_line():
    jaxpr = make_jaxpr(lambda x: call(lax.sin, x))(np.float32(1))
    text = "b:f32[] = jit[name=inner jaxpr={ lambda ; c:f32[]. let d:f32[] = sin c in (d,) }] a"
    assert len(text) > 76
    assert "jaxpr={ lambda ; c:f32[]. let d:f32[] = sin c in (d,) }\n" in str(jaxpr)
    assert str(make_jaxpr(lambda x: call(lambda y: y, x, name="f"))(np.float32(1))) == (
        "{ lambda ; a:f32[]. let\n    b:f32[] = jit[name=f jaxpr={ lambda ; c:f32[]. let  in (c,) }] a\n  in (b,) }"
    )


def test_constants_stand_before_the_semicolon_and_scalars_in_place():
    jaxpr = make_jaxpr(lambda x: x * np.ones(3) + 2.0)(np.ones(3))
    assert str(jaxpr) == (
        "{ lambda a:f64[3]; b:f64[3]. let\n    c:f64[3] = mul b a\n    d:f64[3] = add c 2.0\n  in (d,) }"
    )


def test_empty_parts_keep_their_punctuation():
    assert str(make_jaxpr(lambda: 3)()) == "{ lambda ; . let  in (3,) }"
    assert str(make_jaxpr(lambda x: (x, x))(2)) == "{ lambda ; a:i64[]. let  in (a, a) }"
    assert str(make_jaxpr(lambda x: ())(2)) == "{ lambda ; a:i64[]. let  in () }"


def test_results_that_nobody_reads_print_as_an_underscore():
    jaxpr = make_jaxpr(lambda x: (lax.sin(x), lax.cos(x))[1])(1.0)
    assert str(jaxpr) == "{ lambda ; a:f64[]. let _:f64[] = sin a; b:f64[] = cos a in (b,) }"


def test_names_go_on_after_z_and_pass_over_words_that_mean_something_else():
    def fun(x):
        for _ in range(26 + 9 * 26):
            x = lax.sin(x)
        return x

    text = str(make_jaxpr(fun)(1.0))
    assert "z:f64[] = sin y" in text
    assert "aa:f64[] = sin z" in text
    assert "io:f64[] = sin im" in text  # no variable is called 'in'
    assert " in:" not in text


A20 = "{ lambda a:float64[] .\n  let b:float64[] = mul 2.0 a\n  in ( b ) }"
A22 = "{ lambda  .\n  let a:float64[] = mul 2.0 2.0\n  in ( a ) }"


@pytest.mark.parametrize(
    ("jaxpr", "text"),
    [
        (make_jaxpr(lambda x: 2.0 * x)(3.0), A20),
        (make_jaxpr(lambda: lax.mul(2.0, 2.0))(), A22),
        (make_jaxpr(lambda: 4.0)(), "{ lambda  .\n  let \n  in ( 4.0 ) }"),  # the layout of A21
        (make_jaxpr(lambda x: (x, 1.0))(3.0), "{ lambda a:float64[] .\n  let \n  in ( a, 1.0 ) }"),
        (
            make_jaxpr(lambda x: lax.reduce_sum(x, (0,)))(np.ones(3)),
            "{ lambda a:float64[3] .\n  let b:float64[] = reduce_sum [ axes=(0,) ] a\n  in ( b ) }",
        ),
    ],
)
def test_autodidax_style(jaxpr, text):
    assert jaxpr.pretty_print(style="autodidax") == text


def test_autodidax_style_writes_nested_programs_below_with_names_afresh():
    jaxpr = make_jaxpr(lambda x: call(lambda y: lax.sin(y) * 2.0, x))(3.0)
    assert jaxpr.pretty_print(style="autodidax") == (
        "{ lambda a:float64[] .\n"
        "  let b:float64[] = jit [ name=inner ] a\n"
        "        { lambda a:float64[] .\n"
        "          let b:float64[] = sin a\n"
        "              c:float64[] = mul b 2.0\n"
        "          in ( c ) }\n"
        "  in ( b ) }"
    )


def test_an_unknown_style_is_refused():
    with pytest.raises(ValueError, match=r"there is no style 'haiku'. Use one of 'jax', 'autodidax'."):
        make_jaxpr(lax.sin)(1.0).pretty_print(style="haiku")


def test_source_info_puts_each_equation_on_a_line_with_its_place():
    def fun(x):
        y = lax.sin(x)
        return lax.cos(y)

    lines = make_jaxpr(fun)(1.0).pretty_print(source_info=True).splitlines()
    first = fun.__code__.co_firstlineno
    assert len(lines) == 4
    for line, equation, number in ((lines[1], "b:f64[] = sin a", first + 1), (lines[2], "c:f64[] = cos b", first + 2)):
        assert line.startswith(f"    {equation}  # ")
        assert f"test_printing.py:{number} (" in line


def test_shapes_effects_and_literal_types_are_options():
    jaxpr = make_jaxpr(lambda x: x * 2.0)(3.0)
    assert jaxpr.pretty_print(print_shapes=False) == "{ lambda ; a. let b = mul a 2.0 in (b,) }"
    assert "b:f64[] = mul a 2.0:f64[] in" in jaxpr.pretty_print(print_literal_types=True)
    assert jaxpr.pretty_print(print_effects=True).endswith("in (b,) : {  } }")
    assert "{ lambda a .\n  let b = mul a 2.0\n" in jaxpr.pretty_print(print_shapes=False, style="autodidax")


def test_effects_are_printed_by_name_and_an_equation_without_results_has_no_equals_sign():
    speak_p = Primitive("speak", multiple_results=True, effects=frozenset(("Noise",)))
    x = Var(F64)
    jaxpr = Jaxpr((), [x], [JaxprEqn(speak_p, [x], [], {"words": "well\nwell"})], [])
    text = jaxpr.pretty_print(print_effects=True)
    assert text == "{ lambda ; a:f64[]. let speak[words=well well] a in () : { Noise } }"


def test_parameters_print_by_name_where_they_have_one():
    odd_p = Primitive("odd")
    x, y = Var(F64), Var(F64)
    params = {"f": np.sin, "b": None, "dtypes": (np.dtype("int32"), np.float32), "a": np.ones((2, 3)), "s": ("rows",)}
    text = str(Jaxpr((), [x], [JaxprEqn(odd_p, [x], [y], params)], [y]))
    assert text.splitlines()[1:-1] == [
        "    b:f64[] = odd[",
        "      a=array(float64[2, 3])",
        "      b=None",
        "      dtypes=(int32, float32)",
        "      f=sin",
        "      s=('rows',)",
        "    ] a",
    ]


def test_a_primitive_says_which_parameters_print():
    shy_p = Primitive("shy")
    shy_p.def_pp(lambda params: {k: v for k, v in params.items() if k != "secret"})
    x, y = Var(F64), Var(F64)
    jaxpr = Jaxpr((), [x], [JaxprEqn(shy_p, [x], [y], {"secret": 1, "open": 2, "name": "n"})], [y])
    assert str(jaxpr) == "{ lambda ; a:f64[]. let b:f64[] = shy[name=n open=2] a in (b,) }"


def test_a_program_held_twice_is_printed_once_under_its_name():
    sine = make_jaxpr(lax.sin)(1.0)
    half = make_jaxpr(lambda x: call(None, x, name="sin", jaxpr=sine) * 0.5)(1.0)
    jaxpr = make_jaxpr(lambda x: (call(None, x, name="b", jaxpr=half), call(None, x, name="b", jaxpr=half)))(1.0)
    half.debug_name = "b"
    text = str(jaxpr)
    assert text == (
        "let b = { lambda ; a:f64[]. let\n"
        "    c:f64[] = jit[\n"
        "      name=sin\n"
        "      jaxpr={ lambda ; d:f64[]. let e:f64[] = sin d in (e,) }\n"
        "    ] a\n"
        "    f:f64[] = mul c 0.5\n"
        "  in (f,) } in\n"
        "{ lambda ; g:f64[]. let\n"
        "    h:f64[] = jit[name=b jaxpr=b] g\n"
        "    i:f64[] = jit[name=b jaxpr=b] g\n"
        "  in (h, i) }"
    )
    assert jaxpr.pretty_print(style="autodidax").count("sin a") == 2


def test_lines_that_cannot_be_broken_at_parameters_break_between_words():
    jaxpr = make_jaxpr(lambda *xs: xs[0])(*[1.0] * 30)
    lines = str(jaxpr).splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[1].startswith("    ")
    assert " ".join(" ".join(lines).split()).startswith("{ lambda ; a:f64[] b:f64[] c:f64[]")


def test_an_ill_formed_program_still_prints():
    x, lost = Var(F64), Var(F64)
    text = pretty_print(Jaxpr((), [x], [JaxprEqn(lax.sin_p, [lost], [x], {})], [x]))
    assert text == "{ lambda ; a:f64[]. let a:f64[] = sin b in (a,) }"
