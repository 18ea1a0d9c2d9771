"""A keyword that no transformation takes: each says which one it takes instead."""

import re

import pytest

import calque

SPELLINGS = [
    (calque.jit, "static_argnum", "Did you mean 'static_argnums'?"),
    (calque.jit, "donate_argnum", "Did you mean 'donate_argnums'?"),
    (
        calque.jit,
        "in_axes",
        "keep_unused, in_shardings, out_shardings, device, backend, inline, compiler_options.",
    ),
    (calque.grad, "argnum", "Did you mean 'argnums'?"),
    (calque.value_and_grad, "hasaux", "Did you mean 'has_aux'?"),
    (calque.jacfwd, "argnum", "Did you mean 'argnums'?"),
    (calque.jacrev, "argnum", "Did you mean 'argnums'?"),
    (calque.hessian, "argnum", "Did you mean 'argnums'?"),
    (calque.vmap, "in_axis", "Did you mean 'in_axes'?"),
    (
        calque.vmap,
        "static_argnums",
        "It takes fun, in_axes, out_axes, axis_name, axis_size, missing, batch_size, spmd_axis_name.",
    ),
    (calque.checkpoint, "static_argnum", "Did you mean 'static_argnums'?"),
    (calque.linearize, "hasaux", "Did you mean 'has_aux'?"),
]


@pytest.mark.parametrize(("transform", "keyword", "advice"), SPELLINGS)
def test_a_transformation_says_which_keyword_it_takes(transform, keyword, advice):
    with pytest.raises(TypeError) as caught:
        transform(lambda x: x, **{keyword: 1})
    said = re.search(r"got an unexpected keyword argument '(\w+)'", str(caught.value))
    assert said is not None
    assert said.group(1) == keyword
    assert str(caught.value).endswith(advice)
