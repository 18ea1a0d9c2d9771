"""Programs for shards: their text, for which no device is needed, and the claims of `shards.py` about their values."""

import re
from pathlib import Path

import numpy as np
import pytest
from claims import claims_of, outcomes_of

from calque_core import AbstractMesh, Mesh, lax, make_jaxpr, shard_map
from calque_core import PartitionSpec as P
from calque_core.lax import sharding_constraint_p
from calque_xla_backend import jit, lower_jaxpr_to_module

MESH = AbstractMesh((4, 2), ("i", "j"))
SPEC = P("i", "j")
X = np.ones((8, 8), np.float32)

SCRIPT = Path(__file__).with_name("shards.py")


@pytest.fixture(scope="module")
def outcomes():
    return outcomes_of(SCRIPT)


@pytest.mark.parametrize("claim", claims_of(SCRIPT))
def test_on_eight_devices(claim, outcomes):
    assert outcomes[claim] == "ok", outcomes[claim]


def divided(f, in_specs=SPEC, out_specs=SPEC, mesh=MESH, **options):
    return shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False, **options)


def text_of(f, *args):
    module = lower_jaxpr_to_module(make_jaxpr(f)(*args))
    assert module.module.operation.verify()
    return module.as_text()


def test_a_body_is_a_region_on_shards():
    text = text_of(divided(lambda x: x + 1, P(None, ("j", "i")), P("i", "j")), X)
    assert 'sdy.mesh @mesh = <["i"=4, "j"=2]>' in text
    assert 'in_shardings=[<@mesh, [{}, {"j", "i"}]>] out_shardings=[<@mesh, [{"i"}, {"j"}]>]' in text
    assert 'manual_axes={"i", "j"} (%arg1: tensor<8x1xf32>)' in text


def test_collectives_name_groups_of_devices_along_the_axes():
    def groups(f):
        return re.findall(r"(?:replica_groups|source_target_pairs) = dense<(\[.*?\])>", text_of(divided(f), X))

    along_i, along_j = "[[0, 2, 4, 6], [1, 3, 5, 7]]", "[[0, 1], [2, 3], [4, 5], [6, 7]]"
    assert groups(lambda x: lax.psum(x, "i")) == [along_i]
    assert groups(lambda x: lax.pmax(x, "j")) == [along_j]
    assert groups(lambda x: lax.pmin(x, ("j", "i"))) == ["[[0, 2, 4, 6, 1, 3, 5, 7]]"]
    assert groups(lambda x: lax.all_gather(x, "i", tiled=True)) == [along_i]
    assert groups(lambda x: lax.psum_scatter(x, "j", tiled=True)) == [along_j]
    assert groups(lambda x: lax.all_to_all(x, "j", 0, 1)) == [along_j]
    assert groups(lambda x: lax.ppermute(x, "i", [(3, 0)])) == ["[[6, 0], [7, 1]]"]


def test_equal_collectives_are_lowered_for_their_own_mesh():
    other = AbstractMesh((2, 4), ("i", "j"))

    def f(x):
        return divided(lambda x: lax.psum(x, "i"))(x), divided(lambda x: lax.psum(x[:2], "i"), mesh=other)(x)

    groups = re.findall(r"replica_groups = dense<(\[.*?\])>", text_of(f, X))
    assert groups == ["[[0, 2, 4, 6], [1, 3, 5, 7]]", "[[0, 4], [1, 5], [2, 6], [3, 7]]"]


def test_a_jitted_function_outside_and_inside_has_two_forms():
    scaled = jit(lambda x: x * 2)
    text = text_of(lambda x: scaled(divided(lambda x: scaled(x), mesh=MESH)(x)), X)
    assert text.count("func.func private") == 2
    text = text_of(divided(lambda x: scaled(scaled(x))), X)
    assert text.count("func.func private") == 1


def test_a_position_is_arithmetic_on_the_number_of_the_device():
    text = text_of(divided(lambda x: x + lax.axis_index("j")), X)
    assert text.count("stablehlo.partition_id") == 1
    assert "dynamic_slice" not in text
    turned = Mesh(np.arange(8).reshape(4, 2)[::-1], ("i", "j"))
    straight = Mesh(np.arange(8).reshape(4, 2), ("i", "j"))
    text = text_of(lambda x: divided(lambda x: x + lax.axis_index("j"), mesh=turned)(divided(abs, mesh=straight)(x)), X)
    assert "dense<[6, 7, 4, 5, 2, 3, 0, 1]> : tensor<8xui32>" in text


def test_a_position_in_a_partly_divided_program_has_a_region_of_its_own():
    text = text_of(divided(lambda x: x + lax.axis_index("i"), P("i"), P("i"), axis_names={"i"}), X)
    assert 'in_shardings=[<@mesh, [{"i", ?}, {?}]>]' in text
    assert 'manual_axes={"j"} () {' in text


def test_large_constants_are_operands_of_the_region():
    table = np.arange(2000.0, dtype=np.float32)
    program = make_jaxpr(divided(lambda x: jit(lambda x: x * table[:4])(x) + table[1], P("i"), P("i")))(X[:, :4])
    module = lower_jaxpr_to_module(program)
    assert len(module.const_args) <= 1
    assert len(module.as_text()) < 4000


def test_a_mesh_of_one_position_needs_no_region_and_no_collective():
    text = text_of(divided(lambda x: lax.psum(x, "i") + lax.axis_index("j"), mesh=AbstractMesh((1, 1), ("i", "j"))), X)
    assert not re.search("sdy|all_reduce|partition_id", text)


def test_another_mesh_inside_a_region_is_refused():
    inner = divided(lambda y: y, P("k"), P("k"), mesh=AbstractMesh((2, 4), ("k", "l")))
    with pytest.raises(
        ValueError,
        match=r"shard_map over AbstractMesh\('k': 2, 'l': 4\) is called inside one over .*Use one mesh for both",
    ):
        text_of(divided(lambda x: inner(x)), np.ones((8, 8)))


def test_a_name_that_no_axis_has_is_refused():
    program = make_jaxpr(lambda x: lax.psum(x, "i"), axis_env=[("i", 2)])(1.0)
    with pytest.raises(NameError, match=r"^unbound axis name: i\. psum needs a mapped axis .* has: none\. Call"):
        lower_jaxpr_to_module(program)


def test_a_constraint_is_a_request_about_axes_that_the_compiler_divides():
    def f(x):
        return sharding_constraint_p.bind(x, mesh=MESH, spec=P(None, "j"))

    assert 'sdy.sharding_constraint %arg0 <@mesh, [{}, {"j"}]>' in text_of(f, X)
    text = text_of(divided(f, P("i"), P("i"), axis_names={"i"}), X)
    assert 'sdy.sharding_constraint %arg1 <@mesh, [{}, {"j"}]>' in text
    with pytest.raises(
        ValueError, match=r"names the axis 'j', over which the shard_map around it divides .*Name other"
    ):
        text_of(divided(f, P(None, "j"), P(None, "j"), axis_names={"j"}), X)
